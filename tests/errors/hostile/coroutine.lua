local c = coroutine.wrap(function() while true do coroutine.yield() end end)
--| coroutine.lua:1: error: unknown name 'coroutine'
--|   local c = coroutine.wrap(function() while true do coroutine.yield() end end)
--| hint: a description has no coroutines

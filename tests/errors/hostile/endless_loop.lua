while true do end
--| endless_loop.lua:1: error: the description runs too long: the limits are 20 million instructions and 500 ms
--|   while true do end
--| hint: is there a loop that does not end, or one over very long strings or tables?

local function f(n)
  return 1 + f(n + 1)
end
f(0)
--| recursion.lua:2: error: the description needs more than 16 MiB of memory
--|     return 1 + f(n + 1)
--| hint: is there a loop or a recursion that does not end?

local function check(n)
  if n % 3 ~= 0 then error("experts must divide by 3 in this family", 2) end
  return n
end
model {
  experts = check(16),
}
--| error_call.lua:6: error: experts must divide by 3 in this family
--|     experts = check(16),

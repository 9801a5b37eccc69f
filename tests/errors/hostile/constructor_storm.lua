for i = 1, 1e9 do
  model { name = "m" .. i }
end
--| constructor_storm.lua:2:3: error: model is described twice
--|     model { name = "m" .. i }
--|     ^~~~~
--| hint: the first one is at constructor_storm.lua:2

model(5)
topology "H200"
workload()
schedule({}, {})
--| no_table.lua:1:1: error: model takes one table, not a number
--|   model(5)
--|   ^~~~~
--| hint: write model { key = value, ... }
--| no_table.lua:2:1: error: topology takes one table, not a string
--|   topology "H200"
--|   ^~~~~~~~
--| hint: write topology { key = value, ... }
--| no_table.lua:3:1: error: workload takes one table, not nothing
--|   workload()
--|   ^~~~~~~~
--| hint: write workload { key = value, ... }
--| no_table.lua:4:1: error: schedule takes one table, not several values
--|   schedule({}, {})
--|   ^~~~~~~~
--| hint: write schedule { key = value, ... }

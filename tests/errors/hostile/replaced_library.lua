string.format, pairs, error = nil, nil, nil
model { hidden = ("8"):rep(3) }
for k in pairs({}) do end
--| replaced_library.lua:2:1: error: model lacks intermediate, experts, top_k
--|   model { hidden = ("8"):rep(3) }
--|   ^~~~~
--| replaced_library.lua:2:9: error: model.hidden must be an integer, not the string "888"
--|   model { hidden = ("8"):rep(3) }
--|           ^~~~~~
--| hint: write hidden = 888, without quotes
--| replaced_library.lua:3:10: error: unknown name 'pairs'
--|   for k in pairs({}) do end
--|            ^~~~~

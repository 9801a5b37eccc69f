-- A preset that is a plain function.
return function(overrides)
  return { hidden = 64, intermediate = 64, experts = overrides.experts, top_k = overrides.top_k + 0 }
end

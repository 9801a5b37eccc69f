topology {
  gpu = "H200",
  gpu_count = 2,
}
return true

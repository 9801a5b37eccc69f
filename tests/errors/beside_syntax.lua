return preset { hidden = = 3 }

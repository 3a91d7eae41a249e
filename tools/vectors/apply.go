package main

func applyVectors(emit func(line)) {}

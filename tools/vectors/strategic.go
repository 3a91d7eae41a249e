package main

func strategicVectors(emit func(line)) {}

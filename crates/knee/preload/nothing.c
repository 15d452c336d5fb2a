/* The control of the other preloads: changes nothing. If a program differs with it, preloading itself changes the program. */

int knee_nothing;

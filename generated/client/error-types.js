// The runtime of the client (58a3341838026db7), compiled from packages/client/ of the toolkit. Do not edit.
export {};

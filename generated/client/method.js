// The runtime of the client (69f1bee6072d1451), compiled from packages/client/ of the toolkit. Do not edit.
export {};

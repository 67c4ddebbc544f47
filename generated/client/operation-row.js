// The runtime of the client (792b7e3a44d22551), compiled from packages/client/ of the toolkit. Do not edit.
export {};

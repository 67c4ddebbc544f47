// The runtime of the client (da58adad1461fd37), compiled from packages/client/ of the toolkit. Do not edit.
export {};

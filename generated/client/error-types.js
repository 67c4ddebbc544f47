// The runtime of the client (513e18a6def346b2), compiled from packages/client/ of the toolkit. Do not edit.
export {};

// The runtime of the client (0893ec82286e4512), compiled from packages/client/ of the toolkit. Do not edit.
/** `Map.groupBy`, which Node.js 20 lacks. */
export declare function groupBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]>;

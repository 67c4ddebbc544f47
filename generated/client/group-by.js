// The runtime of the client (a92db8f3edb4b310), compiled from packages/client/ of the toolkit. Do not edit.
/** `Map.groupBy`, which Node.js 20 lacks. */
export function groupBy(items, keyOf) {
    const groups = new Map();
    for (const item of items) {
        const key = keyOf(item);
        const group = groups.get(key);
        if (group === undefined)
            groups.set(key, [item]);
        else
            group.push(item);
    }
    return groups;
}

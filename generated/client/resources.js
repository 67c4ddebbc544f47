// The runtime of the client (03121277183abef4), compiled from packages/client/ of the toolkit. Do not edit.
/** @param methods by operationId. @returns the resources of the top level. */
export function resourcesOf(table, methods) {
    const root = {};
    // Shorter names first: `ai.chat` is a method that gets the method `stream`.
    const named = Object.entries(table)
        .filter(([, row]) => row.name !== undefined)
        .sort(([, a], [, b]) => a.name.length - b.name.length);
    for (const [id, row] of named) {
        const path = row.name.split('.');
        const method = path.pop();
        let resource = root;
        for (const name of path)
            resource = resource[name] ??= {};
        resource[method] = positional(row, methods[id]);
    }
    return root;
}
function positional(row, method) {
    const parameters = [...row.path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name);
    return (...values) => {
        const path = Object.fromEntries(parameters.map((name) => [name, values.shift()]));
        const input = {
            ...(parameters.length > 0 && { path }),
            ...(row.body ? { body: values.shift() } : row.query && { query: values.shift() }),
        };
        return method({ ...values.shift(), ...input });
    };
}

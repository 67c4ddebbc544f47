// Variables for ids in the Postman collection. Their first values are the ids of the examples, which do not
// exist. A script stores the id of each resource that a request creates, for the next requests.
type Json = any

export interface IdVariable {
  variable: string
  /** The id of the examples. */
  example: string
  /** The part of the id before `_`. */
  prefix: string
}

/** A variable for each kind of id, such as `projectId` for the schema `ProjectId`. */
export function idVariables(document: Json): IdVariable[] {
  return Object.entries<Json>(document.components.schemas).flatMap(([name, { examples }]) => {
    const [, prefix] = /^([a-z]+)_[0-9a-z]{26}$/.exec(examples?.[0]) ?? []
    if (!name.endsWith('Id') || prefix === undefined) return []
    return [{ variable: name[0].toLowerCase() + name.slice(1), example: examples[0], prefix }]
  })
}

/** Replaces the ids of the examples by their variables. */
export function withIdVariables(value: Json, ids: IdVariable[]): Json {
  const text = JSON.stringify(value)
  return JSON.parse(
    ids.reduce((so, { variable, example }) => so.replaceAll(example, `{{${variable}}}`), text),
  )
}

/** Runs in Postman after each response. */
export function createdIdsScript(ids: IdVariable[]): string[] {
  const variables = Object.fromEntries(ids.map(({ prefix, variable }) => [prefix, variable]))
  return [
    '// Stores the id of the created resource, which is the last part of the header Location.',
    `const variables = ${JSON.stringify(variables)}`,
    "const id = (pm.response.headers.get('Location') || '').split('/').pop()",
    "const variable = variables[id.split('_')[0]]",
    'if (pm.response.code === 201 && variable) pm.collectionVariables.set(variable, id)',
  ]
}

// The names of the client's methods by resource, such as `projects.members.add`. They follow from the path
// and the operationId; `x-client-method` of an operation replaces the name, and `false` leaves it out.
import { GenerateError } from './error.ts'
import type { Operation } from './model.ts'

const identifier = /^[a-z][A-Za-z0-9]*$/

/** @returns the name of each operation that has one, by operationId. */
export function clientNames(document: any, operations: Operation[]): Map<string, string> {
  const names = new Map<string, string>()
  const owners = new Map<string, string>()
  for (const operation of operations) {
    const declared = document.paths[operation.path][operation.method]['x-client-method']
    if (declared === false) continue
    const name: string = declared ?? nameOf(operation)
    if (!name.split('.').every((part) => identifier.test(part)))
      throw new GenerateError(
        `The client cannot call ${operation.id} \`${name}\`: give it a name with x-client-method.`,
      )
    const owner = owners.get(name)
    if (owner !== undefined)
      throw new GenerateError(
        `The client calls both ${owner} and ${operation.id} \`${name}\`: rename one with x-client-method.`,
      )
    owners.set(name, operation.id)
    names.set(operation.id, name)
  }
  for (const id of operations.map((operation) => operation.id)) {
    if ([...names.values()].some((name) => name.startsWith(`${id}.`) || name === id))
      throw new GenerateError(
        `The client has both the method and the resource \`${id}\`: use x-client-method.`,
      )
  }
  return names
}

/**
 * The static parts of the path, then the verb of the operationId: `POST /projects/{id}/members`, `addMember`
 * is `projects.members.add`. An action at the end of the path is the method: `POST /projects/{id}/restore` is
 * `projects.restore`.
 */
function nameOf({ id, path }: Operation): string {
  const [verb] = /^[a-z]+/.exec(id)!
  const parts = path.split('/').filter((part) => part !== '' && !part.startsWith('{'))
  const last = parts.at(-1)
  const isAction = path.endsWith(`/${last}`) && (last === verb || last?.startsWith(`${verb}-`) === true)
  return (isAction ? parts : [...parts, verb]).map(camelCase).join('.')
}

function camelCase(part: string): string {
  return part.replace(/[^A-Za-z0-9]+(.)/g, (_, letter) => letter.toUpperCase())
}

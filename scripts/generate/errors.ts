// Fills the enums of error codes, reasons and states from x-error-codes, and writes the table of the codes.
import { banner } from './types.ts'

type Json = any

/** An error code of the spec. */
export interface DeclaredCode {
  code: string
  status: number[]
  means: string
  when: string
  do: string
  retry: 'no' | 'later' | 'renewed'
  /** The values of `details.constraint` and their meanings. */
  constraints?: Record<string, string>
  /** The constraints whose errors have `details.limit`. */
  limits: string[]
  /** The values of `details.state` and their meanings. */
  states?: Record<string, string>
  /** The values of `details.reason`: their meanings, and the constraints that have them. */
  reasons: Record<string, { means: string; of?: string[] }>
  /** The reason where no other applies. */
  reason: string
  reserved: boolean
}

/** The reason of every error over a limit. */
const limitReason = 'limit_reached'

/**
 * Gives a schema with `x-error-code` its enum: the declared codes, or with `reason` or `state` the values of
 * `details`. Changes `document`.
 */
export function addErrorCodes(document: Json): DeclaredCode[] {
  const declared = Object.entries<Json>(document['x-error-codes'] ?? {}).map(declaredCode)
  const enums = {
    true: declared.map(({ code }) => code),
    reason: unique(declared.flatMap(({ reasons }) => Object.keys(reasons))),
    state: unique(declared.flatMap(({ states }) => Object.keys(states ?? {}))),
  }
  fill([document.paths, document.components], enums)
  return declared
}

function declaredCode([code, said]: [string, Json]): DeclaredCode {
  const { limits = [], constraints = {}, reasons: own = {} } = said
  const known = Object.entries<Json>(own)
  const mapped = new Set([...limits, ...known.flatMap(([, { of = [] }]) => of)])
  const plain = Object.entries<string>(constraints).filter(([constraint]) => !mapped.has(constraint))
  const [reason] = known.find(([, { of }]) => of === undefined) ?? [code.toLowerCase()]
  return {
    reserved: false,
    ...said,
    code,
    limits,
    reason,
    reasons: {
      ...own,
      ...(limits.length > 0 && {
        [limitReason]: { means: 'A limit is used up: `details.limit` has its name and value.', of: limits },
      }),
      ...Object.fromEntries(plain.map(([constraint, means]) => [constraint, { means, of: [constraint] }])),
      ...(own[reason] === undefined && { [reason]: { means: said.means } }),
    },
  }
}

function unique(names: string[]): string[] {
  return [...new Set(names)].toSorted()
}

function fill(node: Json, enums: Record<string, string[]>): void {
  if (typeof node !== 'object' || node === null) return
  const values = enums[String(node['x-error-code'])]
  if (values !== undefined) {
    // A document of other error codes may have none of them.
    if (values.length > 0) node.enum = values
    delete node['x-error-code']
  }
  for (const value of Object.values(node)) fill(value, enums)
}

/** The table that infra/errors.ts reads. */
export function emitErrorCodes(codes: DeclaredCode[]): string {
  const rows = codes.map(({ code, status, retry, limits, states = {}, reason, reasons }) => {
    const byConstraint = Object.entries(reasons).flatMap(([name, { of = [] }]) =>
      of.map((constraint) => `      ${constraint}: '${name}',\n`),
    )
    return (
      `  ${code}: {\n    status: ${status[0]},\n    retry: '${retry}',\n    reason: '${reason}',\n` +
      `    limits: ${JSON.stringify(limits)},\n    states: ${JSON.stringify(Object.keys(states))},\n` +
      `    reasons: {\n${byConstraint.join('')}    },\n  },`
    )
  })
  return (
    `${banner}/** The error codes. \`reasons\` is by constraint, and \`reason\` of all others. */\n` +
    `export const errorCodes = {\n${rows.join('\n')}\n} as const\n`
  )
}

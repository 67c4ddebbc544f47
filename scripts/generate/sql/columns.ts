// The positions of a statement's columns in its text.
import { parseSync } from 'libpg-query'

/** A node of PostgreSQL's syntax tree, as libpg_query returns it. */
type Node = any

/**
 * @param count the number of the statement's columns.
 * @returns the position of each column; none if a star or the tree hides them.
 */
export function columnPositions(sql: string, count: number): number[] {
  const [{ stmt }] = parseSync(sql).stmts as Node[]
  const [[kind, statement]] = Object.entries<Node>(stmt)
  const targets: Node[] =
    (kind === 'SelectStmt' ? leftmost(statement).targetList : statement.returningClause?.exprs) ?? []
  if (targets.length !== count) return []
  const bytes = Buffer.from(sql)
  // The tree counts bytes, and omits 0.
  return targets.map(({ ResTarget: { location = 0 } }) => bytes.subarray(0, location).toString().length)
}

/** The first SELECT of a UNION. */
function leftmost(select: Node): Node {
  return select.larg === undefined ? select : leftmost(select.larg)
}

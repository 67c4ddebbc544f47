// The positions of a statement's columns in its text, and the columns that its INSERTs lack.
import { parseSync } from 'libpg-query'
import type { Catalog } from './catalog.ts'

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
  return targets.map(({ ResTarget: target }) => positionOf(sql, target))
}

/** @returns the columns that an INSERT must give a value and does not, each with its table's position. */
export function missingColumns(sql: string, { tables }: Catalog): Array<{ name: string; position: number }> {
  return insertsOf(parseSync(sql).stmts).flatMap(({ relation, cols }) => {
    const given = new Set(cols?.map(({ ResTarget: target }: Node) => target.name))
    const missing = (tables.get(relation.relname) ?? []).filter(
      ({ name, required }) => required && !given.has(name),
    )
    return missing.map(({ name }) => ({
      name: `${relation.relname}.${name}`,
      position: positionOf(sql, relation),
    }))
  })
}

function insertsOf(node: Node): Node[] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries<Node>(node).flatMap(([kind, child]) => [
    ...(kind === 'InsertStmt' ? [child] : []),
    ...insertsOf(child),
  ])
}

/** The tree counts bytes, and omits 0. */
function positionOf(sql: string, { location = 0 }: Node): number {
  return Buffer.from(sql).subarray(0, location).toString().length
}

/** The first SELECT of a UNION. */
function leftmost(select: Node): Node {
  return select.larg === undefined ? select : leftmost(select.larg)
}

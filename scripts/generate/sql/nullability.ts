// Finds the columns of a statement that can be NULL, from its syntax tree and the NOT NULL constraints of the
// tables. What it cannot decide counts as nullable; `AS "name!"` in the statement says otherwise.
import { parseSync } from 'libpg-query'
import type { Catalog } from './catalog.ts'

/** A node of PostgreSQL's syntax tree, as libpg_query returns it. */
type Node = any

interface Column {
  name: string
  nullable: boolean
}

/** A table, CTE, subquery or function in FROM. */
interface Relation {
  alias: string
  columns: Column[]
}

interface Scope {
  ctes: Map<string, Column[]>
  relations: Relation[]
  outer: Scope | null
}

/** Functions that never return NULL. */
const neverNull = new Set(
  `count now clock_timestamp statement_timestamp concat concat_ws format json_build_object jsonb_build_object
  json_build_array jsonb_build_array gen_random_uuid row_number rank dense_rank pg_try_advisory_xact_lock
  pg_try_advisory_lock num_nulls num_nonnulls generate_series random to_json_null`.split(/\s+/),
)

/** Functions that return NULL only for an argument that is NULL. */
const nullForNull = new Set(
  `lower upper length char_length octet_length cardinality abs ceil ceiling floor round sign trunc md5 encode
  decode substr substring left right replace repeat reverse btrim ltrim rtrim trim strpos translate unaccent
  to_char to_jsonb to_json date_trunc date_part extract hashtextextended make_interval jsonb_array_length
  json_array_length jsonb_typeof similarity word_similarity to_tsvector to_tsquery plainto_tsquery
  array_append array_cat array_prepend array_remove array_to_string string_to_array starts_with date power
  sqrt mod timezone`.split(/\s+/),
)

/** The name of an aggregate function, in the JSON of a syntax tree. */
const aggregate = /"sval":"(count|sum|min|max|jsonb_agg|json_agg|array_agg|bool_or|bool_and)"/

/**
 * @param parameters whether each parameter is nullable.
 * @returns whether each column of the statement's rows is nullable, in order.
 */
export function nullableColumns(sql: string, parameters: boolean[], catalog: Catalog): boolean[] {
  const { stmts } = parseSync(sql)
  const [statement] = stmts as Node[]
  return new Inference(parameters, catalog)
    .columnsOf(statement.stmt, { ctes: new Map(), relations: [], outer: null })
    .map(({ nullable }) => nullable)
}

class Inference {
  #parameters: boolean[]
  #catalog: Catalog

  constructor(parameters: boolean[], catalog: Catalog) {
    this.#parameters = parameters
    this.#catalog = catalog
  }

  /** The columns that a query or a statement with RETURNING produces. */
  columnsOf(node: Node, outer: Scope): Column[] {
    const [[kind, statement]] = Object.entries<Node>(node)
    const scope: Scope = { ctes: new Map(outer.ctes), relations: [], outer }
    const { ctes = [], recursive = false } = statement.withClause ?? {}
    for (const { CommonTableExpr: cte } of ctes) {
      const define = (query: Node): void => {
        scope.ctes.set(cte.ctename, renamed(this.columnsOf(query, scope), cte.aliascolnames))
      }
      // The second arm of a recursive query reads the rows of the first.
      const first = recursive ? cte.ctequery.SelectStmt?.larg : undefined
      if (first !== undefined) define({ SelectStmt: first })
      define(cte.ctequery)
    }
    if (kind === 'SelectStmt') return this.#select(statement, scope)
    const { relation, returningClause } = statement
    scope.relations.push({
      alias: relation.alias?.aliasname ?? relation.relname,
      columns: this.#table(relation.relname) ?? [],
    })
    for (const item of [...(statement.fromClause ?? []), ...(statement.usingClause ?? [])])
      scope.relations.push(...this.#relations(item, scope))
    narrow(statement.whereClause, scope)
    if (kind === 'UpdateStmt') this.#restore(statement, scope)
    const list = returningClause?.exprs ?? statement.returningList ?? []
    return list.flatMap(({ ResTarget: target }: Node) => this.#target(target, scope))
  }

  /** The condition of an UPDATE is about the values before it, not about those that it sets. */
  #restore({ relation, targetList }: Node, { relations: [{ columns }] }: Scope): void {
    const declared = this.#table(relation.relname) ?? []
    for (const { ResTarget: target } of targetList) {
      const column = columns.find(({ name }) => name === target.name)
      if (column !== undefined)
        column.nullable = declared.find(({ name }) => name === target.name)?.nullable ?? true
    }
  }

  #select(select: Node, scope: Scope): Column[] {
    if (select.op !== undefined && select.op !== 'SETOP_NONE') {
      const left = this.columnsOf({ SelectStmt: select.larg }, scope)
      const right = this.columnsOf({ SelectStmt: select.rarg }, scope)
      return left.map(({ name, nullable }, i) => ({ name, nullable: nullable || right[i].nullable }))
    }
    if (select.valuesLists !== undefined) {
      const rows: Node[][] = select.valuesLists.map(({ List }: Node) => List.items)
      return rows[0].map((_value, i) => ({
        name: `column${i + 1}`,
        nullable: rows.some((row) => this.#nullable(row[i], scope)),
      }))
    }
    for (const item of select.fromClause ?? []) scope.relations.push(...this.#relations(item, scope))
    narrow(select.whereClause, scope)
    return (select.targetList ?? []).flatMap(({ ResTarget: target }: Node) => this.#target(target, scope))
  }

  #relations(item: Node, scope: Scope): Relation[] {
    const [[kind, from]] = Object.entries<Node>(item)
    const alias: string = from.alias?.aliasname ?? ''
    if (kind === 'RangeVar') {
      const found = scope.ctes.get(from.relname) ?? this.#table(from.relname) ?? []
      // A copy: a join or a condition changes the columns of this use only.
      const columns = renamed(found, from.alias?.colnames)
      return [{ alias: alias || from.relname, columns }]
    }
    if (kind === 'RangeSubselect')
      return [{ alias, columns: renamed(this.columnsOf(from.subquery, scope), from.alias?.colnames) }]
    if (kind === 'RangeFunction') return [{ alias, columns: functionColumns(from, alias) }]
    if (kind !== 'JoinExpr') return [{ alias, columns: [] }]
    const left = this.#relations(from.larg, scope)
    // A LATERAL on the right sees the left.
    const right = this.#relations(from.rarg, { ...scope, relations: [...scope.relations, ...left] })
    if (from.jointype === 'JOIN_LEFT' || from.jointype === 'JOIN_FULL') makeNullable(right)
    if (from.jointype === 'JOIN_RIGHT' || from.jointype === 'JOIN_FULL') makeNullable(left)
    return [...left, ...right]
  }

  #table(name: string): Column[] | null {
    return (
      this.#catalog.tables.get(name)?.map(({ name: column, notNull }) => ({
        name: column,
        nullable: !notNull,
      })) ?? null
    )
  }

  #target(target: Node, scope: Scope): Column[] {
    const fields = target.val?.ColumnRef?.fields
    if (fields?.at(-1).A_Star !== undefined) {
      const alias = fields.length > 1 ? fields[0].String.sval : null
      return scope.relations
        .filter((relation) => alias === null || relation.alias === alias)
        .flatMap(({ columns }) => columns)
    }
    const name = target.name ?? fields?.at(-1).String.sval ?? '?column?'
    return [{ name, nullable: this.#nullable(target.val, scope) }]
  }

  #nullable(node: Node, scope: Scope): boolean {
    const [[kind, e]] = Object.entries<Node>(node)
    const any = (nodes: Node[] = []): boolean => nodes.some((each) => this.#nullable(each, scope))
    switch (kind) {
      case 'A_Const':
        return e.isnull === true
      case 'ParamRef':
        return this.#parameters[e.number - 1]
      case 'ColumnRef':
        return find(e.fields, scope)?.nullable ?? true
      case 'TypeCast':
      case 'CollateClause':
      case 'NamedArgExpr':
        return this.#nullable(e.arg, scope)
      case 'NullTest':
      case 'BooleanTest':
      case 'A_ArrayExpr':
      case 'RowExpr':
      case 'SQLValueFunction':
      case 'JsonObjectConstructor':
      case 'JsonArrayConstructor':
        return false
      case 'CoalesceExpr':
      case 'MinMaxExpr':
        return e.args.every((each: Node) => this.#nullable(each, scope))
      case 'BoolExpr':
        return any(e.args)
      case 'CaseExpr':
        return (
          e.defresult === undefined || any([e.defresult, ...e.args.map((when: Node) => when.CaseWhen.result)])
        )
      case 'SubLink':
        return this.#subLinkNullable(e, scope)
      case 'FuncCall': {
        const name = e.funcname.at(-1).String.sval
        return !neverNull.has(name) && (!nullForNull.has(name) || any(e.args))
      }
      case 'A_Expr':
        return this.#operatorNullable(e, scope)
      default:
        return true
    }
  }

  #operatorNullable({ kind, name, lexpr, rexpr }: Node, scope: Scope): boolean {
    if (kind === 'AEXPR_DISTINCT' || kind === 'AEXPR_NOT_DISTINCT') return false
    if (kind === 'AEXPR_NULLIF') return true
    // The operators that read a field of a JSON value.
    if (/^(->>?|#>>?)$/.test(name.at(-1).String.sval)) return true
    const operands = [lexpr, rexpr].flatMap((each) => each?.List?.items ?? (each === undefined ? [] : [each]))
    return operands.some((each) => this.#nullable(each, scope))
  }

  #subLinkNullable({ subLinkType, testexpr, subselect }: Node, scope: Scope): boolean {
    if (subLinkType === 'EXISTS_SUBLINK' || subLinkType === 'ARRAY_SUBLINK') return false
    if (subLinkType !== 'EXPR_SUBLINK') return testexpr === undefined || this.#nullable(testexpr, scope)
    const { targetList, groupClause, havingClause, fromClause } = subselect.SelectStmt
    // Aggregates without GROUP BY, and a SELECT without FROM, return exactly one row.
    const isOneRow =
      groupClause === undefined &&
      havingClause === undefined &&
      targetList !== undefined &&
      (fromClause === undefined || aggregate.test(JSON.stringify(targetList)))
    return !isOneRow || this.columnsOf(subselect, scope)[0].nullable
  }
}

function renamed(columns: Column[], names: Node[] = []): Column[] {
  return columns.map((column, i) => ({ ...column, name: names[i]?.String.sval ?? column.name }))
}

/** The columns of a function in FROM: unknown values, except for those that cannot be NULL. */
function functionColumns({ functions, ordinality, alias: given, coldeflist }: Node, alias: string): Column[] {
  const names: string[] =
    given?.colnames?.map((each: Node) => each.String.sval) ??
    coldeflist?.map((each: Node) => each.ColumnDef.colname) ??
    (alias === '' ? [] : [alias])
  const name = functions[0]?.List?.items[0]?.FuncCall?.funcname.at(-1).String.sval
  return names.map((column, i) => ({
    name: column,
    nullable: name !== 'generate_series' && !(ordinality === true && i === names.length - 1),
  }))
}

function makeNullable(relations: Relation[]): void {
  for (const { columns } of relations) for (const column of columns) column.nullable = true
}

function find(fields: Node[], scope: Scope | null): Column | undefined {
  const names: string[] = fields.map(({ String: string }) => string?.sval)
  for (let each = scope; each !== null; each = each.outer) {
    for (const { alias, columns } of each.relations) {
      if (names.length > 1 && alias !== names.at(-2)) continue
      const found = columns.find(({ name }) => name === names.at(-1))
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** Columns that a condition compares, or that it requires to be NOT NULL, are not NULL in the result. */
function narrow(condition: Node | undefined, scope: Scope): void {
  if (condition === undefined) return
  const [[kind, e]] = Object.entries<Node>(condition)
  const exclude = (node: Node | undefined): void => {
    const fields = node?.ColumnRef?.fields
    if (fields === undefined || fields.at(-1).A_Star !== undefined) return
    const column = find(fields, { ...scope, outer: null })
    if (column !== undefined) column.nullable = false
  }
  if (kind === 'BoolExpr' && e.boolop === 'AND_EXPR') for (const each of e.args) narrow(each, scope)
  else if (kind === 'NullTest' && e.nulltesttype === 'IS_NOT_NULL') exclude(e.arg)
  else if (kind === 'A_Expr' && /^AEXPR_(OP|OP_ANY|IN|LIKE|ILIKE|BETWEEN)$/.test(e.kind)) {
    if (!/^(=|<|>|<=|>=|<>|@>|<@|&&|~~\*?)$/.test(e.name.at(-1).String.sval)) return
    exclude(e.lexpr)
    if (e.kind === 'AEXPR_OP') exclude(e.rexpr)
  }
}

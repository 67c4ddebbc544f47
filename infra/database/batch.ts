// Statements that are sent in one write and answered together: one round trip. PostgreSQL runs them in order,
// and none after an error. Every statement of prisma/sql is sent in a batch, mostly alone. pg's client runs a
// batch as it runs a query, by the methods below.
import pg from 'pg'
// @ts-expect-error -- pg's types leave it out
import utils from 'pg/lib/utils'
import { serialize } from 'pg-protocol'

/** The part of pg's connection that a batch uses. pg's types leave it out. */
interface Connection {
  stream: { write(bytes: Buffer): boolean }
  /** The texts of the statements that PostgreSQL has prepared, and of those that were sent to it. */
  parsedStatements: Record<string, string>
  submittedNamedStatements: Record<string, string>
}

/** `label`: the file in prisma/sql. `reads`: it may share a round trip with statements of others. */
export interface Config {
  name?: string | undefined
  text: string
  values?: unknown[] | undefined
  types?: Types
  rowMode?: 'array' | undefined
  label?: string | undefined
  reads?: boolean | undefined
  /** Runs in the context of the request whose statement it is. Default: that of the batch. */
  inContext?: (<T>(work: () => T) => T) | undefined
}

type Types = Pick<typeof pg.types, 'getTypeParser'>

export interface BatchStatement {
  config: Config
  result: Promise<pg.QueryResult>
}

/** How the rows of a statement are read. */
interface Columns {
  types: Types
  fields: pg.FieldDef[]
  parsers: Parser[]
  /** Made with the first row that is an object. */
  toRow?: RowReader
}

type Values = Array<string | null>
type Row = Record<string, unknown>
type Parser = (text: string) => unknown
type RowReader = (values: Values) => Row
type MakeRowReader = (parsers: Parser[]) => RowReader

/** The columns of the prepared statements of each connection: PostgreSQL does not send them again. */
const columnsByConnection = new WeakMap<Connection, Map<string, Columns>>()

/** Makes the reader of rows from the parsers of their columns. By the names of the columns as JSON. */
const rowReaderMakers = new Map<string, MakeRowReader>()

const noColumns: Columns = { types: pg.types, fields: [], parsers: [] }

const describe = serialize.describe({ type: 'P' })
const execute = serialize.execute()
const sync = serialize.sync()

export class Batch {
  /** Set by the client, which stops its time-out when it is called. */
  callback: (error?: Error) => void = () => {}
  readonly #queries: Query[] = []
  /** The index of the statement that is answered next. */
  #next = 0
  #error: Error | undefined

  /** Adds a statement. @returns its result, when the whole batch is answered. */
  add(config: Config): Promise<pg.QueryResult> {
    const query = new Query(config)
    this.#queries.push(query)
    return query.result
  }

  get statements(): BatchStatement[] {
    return this.#queries
  }

  /** Prepares no statement by name. */
  removeNames(): void {
    for (const query of this.#queries) query.name = undefined
  }

  // The client keeps the names of what PostgreSQL has prepared.
  get name(): string | undefined {
    return this.#queries[this.#next]?.name
  }

  get text(): string | undefined {
    return this.#queries[this.#next]?.config.text
  }

  submit(connection: Connection): void {
    const messages: Buffer[] = []
    for (const query of this.#queries) {
      try {
        query.prepare(connection, messages)
      } catch (error) {
        // A value that cannot be sent: the statements after it are not sent either.
        this.#error = error as Error
        break
      }
    }
    messages.push(sync)
    connection.stream.write(Buffer.concat(messages))
  }

  handleRowDescription({ fields }: { fields: pg.FieldDef[] }): void {
    this.#queries[this.#next].describe(fields)
  }

  handleDataRow({ fields: values }: { fields: Array<string | null> }): void {
    try {
      this.#queries[this.#next].addRow(values)
    } catch (error) {
      this.#error ??= error as Error
    }
  }

  handleCommandComplete({ text }: { text: string }, connection: Connection): void {
    this.#queries[this.#next].complete(text, connection)
    this.#next++
  }

  handleReadyForQuery(connection: Connection): void {
    if (this.#error !== undefined) return this.handleError(this.#error, connection)
    for (const query of this.#queries) query.resolve()
    this.callback()
  }

  /** The transaction has failed, and every statement with it. */
  handleError(error: Error, connection: Connection): void {
    for (const { name, reject } of this.#queries) {
      // PostgreSQL has not prepared what it did not run.
      if (name !== undefined) delete connection.submittedNamedStatements[name]
      reject(error)
    }
    this.callback(error)
  }
}

/** A statement of a batch. */
class Query implements BatchStatement {
  readonly config: Config
  name: string | undefined
  readonly result: Promise<pg.QueryResult>
  #resolve!: (result: pg.QueryResult) => void
  reject!: (error: Error) => void
  #columns = noColumns
  #rows: Array<Row | unknown[]> = []
  #command = ''

  constructor(config: Config) {
    this.config = config
    this.name = config.name
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.reject = reject
    })
  }

  /** Throws for a value that cannot be sent. */
  prepare(connection: Connection, messages: Buffer[]): void {
    const { name } = this
    const { text, values, types } = this.config
    const bind = serialize.bind({
      statement: name,
      values: values as string[],
      valueMapper: utils.prepareValue,
    })
    const { parsedStatements, submittedNamedStatements } = connection
    const isPrepared =
      name !== undefined && (parsedStatements[name] ?? submittedNamedStatements[name]) !== undefined
    if (!isPrepared) {
      messages.push(serialize.parse({ name, text }))
      if (name !== undefined) submittedNamedStatements[name] = text
    }
    messages.push(bind)
    const columns = isPrepared ? columnsByConnection.get(connection)?.get(name) : undefined
    const isKnown = columns !== undefined && (columns === noColumns || columns.types === types)
    if (isKnown) this.#columns = columns
    else messages.push(describe)
    messages.push(execute)
  }

  /** PostgreSQL describes the rows when it has not done so on this connection. */
  describe(fields: pg.FieldDef[]): void {
    const { types = pg.types } = this.config
    const parsers = fields.map(({ dataTypeID }): Parser => types.getTypeParser(dataTypeID, 'text'))
    this.#columns = { types, fields, parsers }
  }

  addRow(values: Values): void {
    const columns = this.#columns
    if (this.config.rowMode === 'array') {
      this.#rows.push(values.map((value, i) => (value === null ? null : columns.parsers[i](value))))
      return
    }
    columns.toRow ??= rowReader(columns)
    this.#rows.push(columns.toRow(values))
  }

  complete(command: string, connection: Connection): void {
    this.#command = command
    if (this.name === undefined) return
    let known = columnsByConnection.get(connection)
    if (known === undefined) columnsByConnection.set(connection, (known = new Map()))
    if (known.get(this.name) !== this.#columns) known.set(this.name, this.#columns)
  }

  resolve(): void {
    // Such as `SELECT 3`, `INSERT 0 1` and `COMMIT`.
    const [command, ...numbers] = this.#command.split(' ')
    const rowCount = numbers.length === 0 ? null : Number(numbers.at(-1))
    const { fields } = this.#columns
    this.#resolve({ command, rowCount, oid: 0, rows: this.#rows, fields })
  }
}

/**
 * Reads the values of a row into an object. A function with the names in its code does so five times as fast
 * as one that assigns the properties by name, but compiling it takes longer than reading a row, so it is done
 * once for each list of names. Of columns with the same name, the last one counts.
 */
function rowReader({ fields, parsers }: Columns): RowReader {
  const names = JSON.stringify(fields.map(({ name }) => name))
  let make = rowReaderMakers.get(names)
  if (make === undefined) {
    const properties = fields.map(
      ({ name }, i) => `${JSON.stringify(name)}: values[${i}] === null ? null : parsers[${i}](values[${i}])`,
    )
    make = new Function('parsers', `return (values) => ({ ${properties.join(', ')} })`) as MakeRowReader
    rowReaderMakers.set(names, make)
  }
  return make(parsers)
}

// Statements that are sent in one write and answered together: one round trip. PostgreSQL runs them in order,
// and none after an error. pg's client runs a batch as it runs a query, by the methods below.
import pg from 'pg'

/** What the client calls on the query that it runs. pg's types leave it out. */
interface Query {
  name?: string
  text: string
  callback: (error: Error | null, result?: pg.QueryResult) => void
  prepare(connection: Connection): void
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: Connection): void
  handleReadyForQuery(connection: Connection): void
  handleError(error: Error, connection: Connection): void
}

interface Connection {
  stream: { cork(): void; uncork(): void }
  submittedNamedStatements: Record<string, string>
  sync(): void
}

/** `label`: the file in prisma/sql. */
type Config = pg.QueryConfig & { label?: string }

export interface BatchStatement {
  config: Config
  result: Promise<pg.QueryResult>
}

export class Batch {
  /** Set by the client, which stops its time-out when it is called. */
  callback: (error?: Error) => void = () => {}
  readonly statements: BatchStatement[] = []
  readonly #queries: Query[] = []
  /** The index of the statement that is answered next. */
  #next = 0
  #error: Error | undefined

  /** Adds a statement. @returns its result, when the whole batch is answered. */
  add(config: Config): Promise<pg.QueryResult> {
    const result = new Promise<pg.QueryResult>((resolve, reject) => {
      const query = new pg.Query({ ...config, queryMode: 'extended' } as Config) as unknown as Query
      query.callback = (error, result) => {
        if (!error) return resolve(result!)
        this.#error ??= error
        reject(error)
      }
      this.#queries.push(query)
    }).catch((error: Error) => {
      // The stack of the error is that of the socket. This one leads to the statement, as pg's own does.
      Error.captureStackTrace(error)
      throw error
    })
    this.statements.push({ config, result })
    return result
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
    return this.#queries[this.#next]?.text
  }

  submit(connection: Connection): void {
    // A query ends with a Sync; here one ends them all.
    const unsynced = Object.create(connection, { sync: { value: () => {} } }) as Connection
    connection.stream.cork()
    try {
      for (const query of this.#queries) {
        // A value that cannot be sent: the statements after it are not sent either.
        if (this.#error !== undefined) break
        query.prepare(unsynced)
      }
      connection.sync()
    } finally {
      connection.stream.uncork()
    }
  }

  handleRowDescription(message: unknown): void {
    this.#queries[this.#next].handleRowDescription(message)
  }

  handleDataRow(message: unknown): void {
    this.#queries[this.#next].handleDataRow(message)
  }

  handleCommandComplete(message: unknown, connection: Connection): void {
    this.#queries[this.#next].handleCommandComplete(message, connection)
    this.#next++
  }

  handleReadyForQuery(connection: Connection): void {
    if (this.#error !== undefined) return this.handleError(this.#error, connection)
    for (const query of this.#queries) query.handleReadyForQuery(connection)
    this.callback()
  }

  /** The transaction has failed, and every statement with it. */
  handleError(error: Error, connection: Connection): void {
    for (const query of this.#queries) {
      // PostgreSQL has not prepared what it did not run.
      if (query.name !== undefined) delete connection.submittedNamedStatements[query.name]
      query.handleError(error, connection)
    }
    this.callback(error)
  }
}

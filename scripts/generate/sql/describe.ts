// Asks PostgreSQL for the parameters and columns of a statement, without running it.
import type pg from 'pg'

export interface Description {
  /** The OID of each parameter's type. */
  parameters: number[]
  columns: Array<{ name: string; type: number }>
}

/** @throws the error of PostgreSQL, whose `position` counts from 1. */
export async function describe(client: pg.Client, text: string): Promise<Description> {
  return await new Promise<Description>((resolve, reject) => {
    // A query of pg: it calls `submit`, then the handlers. pg has no public call for Describe.
    const { connection } = client as unknown as { connection: Connection }
    let parameters: number[] = []
    let columns: Description['columns'] = []
    let problem: Error | null = null
    const onParameters = ({ dataTypeIDs }: { dataTypeIDs: number[] }): void => {
      parameters = dataTypeIDs
    }
    const query = {
      submit(): void {
        connection.once('parameterDescription', onParameters)
        connection.parse({ text, name: '', types: [] })
        connection.describe({ type: 'S', name: '' })
        connection.sync()
      },
      handleRowDescription({ fields }: { fields: Array<{ name: string; dataTypeID: number }> }): void {
        columns = fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID }))
      },
      handleError(error: Error): void {
        problem = error
        finish()
      },
      handleReadyForQuery: finish,
    }
    function finish(): void {
      connection.off('parameterDescription', onParameters)
      if (problem === null) resolve({ parameters, columns })
      else reject(problem)
    }
    client.query(query as unknown as pg.Submittable)
  })
}

interface Connection {
  once(event: 'parameterDescription', listener: (message: { dataTypeIDs: number[] }) => void): void
  off(event: 'parameterDescription', listener: (message: { dataTypeIDs: number[] }) => void): void
  parse(query: { text: string; name: string; types: number[] }): void
  describe(message: { type: 'S'; name: string }): void
  sync(): void
}

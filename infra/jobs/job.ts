/** A fetched job of a queue. */
export interface Job<Data> {
  id: string
  data: Data
  /** How often the job was fetched before. Only its latest fetch can complete it. */
  retryCount: number
}

/** A fetched job of a queue. */
export interface Job<Data> {
  id: string
  data: Data
  /** How often the job was fetched, this time included. Only its latest fetch can complete it. */
  fetches: number
}

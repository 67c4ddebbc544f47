// The calls and results of each generated client: an upload with form fields, its download, a stream and an
// error.
export interface Result {
  uploaded: { name: string; path: string; tags: string[]; metadata: Record<string, string> }
  downloaded: string
  /** The names of the events, or the text of the stream. */
  streamed: string[] | string
  error: { status: number | undefined; code: string | undefined }
}

export interface Server {
  url: string
  key: string
}

export const content = 'Generated clients send this text.'
export const fields = {
  name: 'note.txt',
  path: 'notes/2026',
  tags: ['first', 'second'],
  metadata: { origin: 'generator' },
}

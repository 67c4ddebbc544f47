// How the tools read the files of a document.
import { BaseResolver, ResolveError, type Source } from '@redocly/openapi-core'
import { parseDocument, visit } from 'yaml'
import { hasIds, withPointers } from './schema-ids.ts'

/** Reads YAML as go-yaml and libyaml do, and opens URLs only where that is allowed. */
export class DocumentResolver extends BaseResolver {
  readonly #allowRemote: boolean
  /** The files and URLs that were read. */
  readonly sources = new Set<string>()

  constructor({ allowRemote = false }: { allowRemote?: boolean } = {}) {
    super()
    this.#allowRemote = allowRemote
  }

  override async loadExternalRef(absoluteRef: string): Promise<Source> {
    if (/^https?:\/\//i.test(absoluteRef) && !this.#allowRemote)
      throw new ResolveError(new Error(`${absoluteRef} is not opened without --allow-remote`))
    this.sources.add(absoluteRef)
    return await super.loadExternalRef(absoluteRef)
  }

  override parseDocument(source: Source, isRoot = false): ReturnType<BaseResolver['parseDocument']> {
    const document = this.#parse(source, isRoot)
    // Before version 3.1, `$id` and `$anchor` are no keywords.
    const parsed: any = document.parsed
    if (hasIds(source.body) && !/^(2|3\.0)/.test(parsed?.openapi ?? parsed?.swagger))
      withPointers(parsed, source.absoluteRef, { isRoot })
    return document
  }

  #parse(source: Source, isRoot: boolean): ReturnType<BaseResolver['parseDocument']> {
    try {
      return super.parseDocument(source, isRoot)
    } catch (error) {
      // Less strict about indentation: a flow mapping may end at the column where its key starts.
      const document = parseDocument(source.body, { strict: false })
      if (document.errors.length > 0 || !isComplete(document)) throw error
      return { source, parsed: document.toJS() }
    }
  }
}

/** Whether every alias has its anchor. */
function isComplete(document: ReturnType<typeof parseDocument>): boolean {
  let complete = true
  visit(document, { Alias: (_, alias) => void (complete &&= alias.resolve(document) !== undefined) })
  return complete
}

/** The option of all commands, for `parseArgs`. */
export const remoteOption = { 'allow-remote': { type: 'boolean', default: false } } as const

// The parameters by which a list is read in pages, in any of their usual names.
import type { Operation, Parameter } from './document.ts'

export interface Paging {
  limit: Parameter | null
  page: Parameter | null
  offset: Parameter | null
  /** Of text: where the next page starts. */
  cursor: Parameter | null
}

export function pagingOf({ parameters }: Pick<Operation, 'parameters'>): Paging {
  const named = (pattern: RegExp, types: string[]): Parameter | null =>
    parameters.find(
      ({ name, in: where, schema }) =>
        where === 'query' &&
        pattern.test(name) &&
        (schema.type === undefined || [schema.type].flat().some((type) => types.includes(type))),
    ) ?? null
  const numbers = ['integer', 'number']
  return {
    limit: named(/^(limit|per_?page|page_?size|max_?results)$/i, numbers),
    page: named(/^page(_?number)?$/i, numbers),
    offset: named(/^(offset|skip|start)$/i, numbers),
    cursor: named(
      /^(((next|page)_?)?cursor|(next|page|continuation)_?token|continuation|marker|(starting_?)?after)$/i,
      ['string'],
    ),
  }
}

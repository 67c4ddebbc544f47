// The types of the console's model, which the generator makes of the contract, and of its files model.json
// and forms.json.

export interface ConsoleModel {
  title: string
  /** The areas of the navigation. */
  groups: ConsoleGroup[]
  lists: ConsoleList[]
  details: ConsoleDetail[]
  /** By operationId. */
  operations: Record<string, ConsoleOperation>
}

export interface ConsoleGroup {
  title: string
  icon?: string
  /** The pages of the own account are under the picture, those of operators below the others. */
  place?: 'account' | 'operator'
  /** The paths of lists and details. */
  pages: string[]
}

export interface ConsoleList {
  /** Other words by which the search finds the list. */
  words?: string[]
  /** The path in the contract. The page has the same path after `/console`. */
  path: string
  title: string
  tag: string
  operation: string
  /** The first column names the item. */
  columns: ConsoleField[]
  filters: ConsoleField[]
  /** The sort keys. */
  sort: string[]
  /** Whether the list takes `order`. */
  ordered: boolean
  /** The operation that creates an item. */
  create: string | null
  /** The users that the operation adds to an item. */
  include?: string[]
  /** The prefix of the IDs of the items. */
  prefix: string | null
  /** The path of an item's detail. */
  item: string | null
  /** The fields of an item with the values of this path's parameters; the others are those of the list. */
  keys: Record<string, string>
}

export interface ConsoleDetail {
  path: string
  title: string
  tag: string
  operation: string
  /** The users that the operation adds. */
  include?: string[]
  /** The prefix of the IDs that lead to this page. */
  prefix: string | null
  fields: ConsoleField[]
  /** The types of events about such resources, as the filter of the event log: `order.*`. */
  events: string | null
  update: string | null
  remove: string | null
  /** `Revoke` of `Revoke a link`; undefined for `Delete`. */
  removes?: string
  actions: Array<{ title: string; operation: string }>
  /** Operations below the path that answer with a file. */
  downloads: Array<{ title: string; operation: string }>
  /** Lists inside of the resource, and lists that `filter` restricts to it. */
  related: Array<{ path: string; filter: string | null }>
}

export interface ConsoleOperation {
  method: string
  summary: string
  /** The fields of the body; null without a body. */
  fields: ConsoleField[] | null
  /** The query parameters of an operation that changes something. */
  query: ConsoleField[]
  /** Whether the body is one of several schemas, which the form takes as JSON. */
  choice: boolean
  /** The fields of the answer that are shown only once. */
  secrets: string[]
  /** The values of the resource's fields with which the operation is possible; null for any. */
  when: Record<string, Array<string | number | boolean | null>> | null
  /** Whether it is for the seller of the resource: the operator, or the admins of an organization. */
  sells: boolean
}

export type FieldKind =
  | 'text'
  | 'long'
  | 'number'
  | 'bytes'
  | 'money'
  | 'boolean'
  | 'time'
  | 'id'
  | 'url'
  | 'choice'
  | 'choices'
  | 'texts'
  | 'object'
  | 'objects'
  | 'json'
  | 'file'

export interface ConsoleField {
  name: string
  title: string
  kind: FieldKind
  required: boolean
  nullable: boolean
  help?: string
  /** Of a choice; of an ID: what it may be, too. */
  values?: Array<string | number | boolean>
  /** Of an ID, or of several. */
  prefix?: string
  /** Of an object, and of each of several objects. */
  fields?: ConsoleField[]
}

/** A field as the files have it, without a title that follows from the name and without the kind `text`. */
export type PackedField = Omit<
  ConsoleField,
  'title' | 'kind' | 'required' | 'nullable' | 'help' | 'fields'
> & {
  title?: string
  kind?: FieldKind
  required?: boolean
  nullable?: boolean
  /** Indices of fields, each as the difference from the index before, which compresses better. */
  fields?: number[]
}

type Optional<T, Names extends keyof T> = Omit<T, Names> & Partial<Pick<T, Names>>

/** generated/console/model.json. Empty values are left out, and paths, which the client has by operation. */
export type PackedModel = Pick<ConsoleModel, 'title' | 'groups'> & {
  lists: Array<
    Optional<
      Omit<ConsoleList, 'path' | 'tag' | 'columns' | 'filters' | 'item'>,
      'sort' | 'ordered' | 'create' | 'prefix' | 'keys'
    > & {
      columns: number[]
      filters?: number[]
      /** The index of a detail. */
      item?: number
    }
  >
  details: Array<
    Optional<
      Omit<ConsoleDetail, 'path' | 'tag' | 'fields' | 'related'>,
      'prefix' | 'events' | 'update' | 'remove' | 'actions' | 'downloads'
    > & {
      fields?: number[]
      /** The index of a list, and its filter. */
      related?: Array<[number, string?]>
    }
  >
  operations: Record<string, Partial<Pick<ConsoleOperation, 'secrets' | 'when' | 'sells'>>>
  fields: PackedField[]
}

/** generated/console/forms.json */
export interface PackedForms {
  /** By operationId, of all operations that change something. The indices are differences, too. */
  forms: Record<string, { fields?: number[]; query?: number[]; choice?: boolean }>
  fields: PackedField[]
}

/** generated/console/help.json: the texts of the fields and forms, in the order of forms.json. */
export interface PackedHelp {
  fields: Array<string | null>
  forms: string[]
}

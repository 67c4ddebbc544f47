// The declaration of a resource by x-crud, and the names that follow from it.
import { escaped } from '@platform-api/openapi/json-pointer.ts'

type Json = any

export interface Declared {
  /** The component of the resource, in the same file: the fields that this project's users see. */
  schema: string
  /**
   * The parent: `organization`, `platform` for a resource without an owner, or the schema of a resource with
   * x-crud in the same file. Default: the project.
   */
  parent?: string
  /** The prefix of ids. */
  prefix: string
  tag: string
  scopes: { read: string; write: string }
  /** Roles in the project or organization. */
  roles?: { read: string; write: string }
  /** The operations that it does not have. */
  without?: Verb[]
  /** The path parameter with its id. */
  parameter?: string
  /** Sort keys besides `created_at` and `updated_at`. */
  sort?: string[]
  /** Fields that a list can be filtered by. */
  filters?: string[]
  /** Other query parameters of the list. The condition of each is a file of prisma/sql. */
  parameters?: Json[]
}

export const writes = ['create', 'update', 'delete'] as const

type Verb = (typeof writes)[number]

interface Place {
  /** The field with its id, and the schema of that in common.yaml. */
  field: string
  id: string
  /** Its path parameter. */
  parameter: string
  /** The extension with the role that an operation needs. */
  access: string
  path: string
}

/** The parents that are not resources with x-crud; null for the platform. */
const places: Record<string, Place | null> = {
  project: {
    field: 'project_id',
    id: 'ProjectId',
    parameter: 'projects.yaml#/components/parameters/ProjectId',
    access: 'x-project-access',
    path: '/projects/{id}',
  },
  organization: {
    field: 'organization_id',
    id: 'OrganizationId',
    parameter: 'organizations.yaml#/components/parameters/OrganizationId',
    access: 'x-organization-access',
    path: '/organizations/{id}',
  },
  platform: null,
}

export const isComplete = (crud: Declared | undefined): crud is Declared =>
  typeof crud?.schema === 'string' &&
  typeof crud.scopes === 'object' &&
  (typeof crud.roles === 'object' || crud.parent === 'platform') &&
  [crud.sort, crud.filters, crud.parameters, crud.without].every(
    (list) => list === undefined || Array.isArray(list),
  )

export const words = (name: string): string => name.replace(/(?<=.)([A-Z])/g, ' $1').toLowerCase()
export const snake = (name: string): string => words(name).replaceAll(' ', '_')
export const capital = (name: string): string => name[0].toUpperCase() + name.slice(1)
export const withArticle = (what: string): string =>
  `${/^(?!us|uni|eu)[aeiou]/.test(what) ? 'an' : 'a'} ${what}`

/** The name of what the resource is in: of a place, or of another resource. */
export const outerOf = ({ parent = 'project' }: Declared): string => words(parent)

/** The schema of the resource that it is in; null if it is in a place alone. */
export const outerSchema = ({ parent = 'project' }: Declared): string | null =>
  Object.hasOwn(places, parent) ? null : parent

/** The place that the resource, or the one that it is in, is in. */
export const placeName = (crud: Declared): string => (outerSchema(crud) === null ? outerOf(crud) : 'project')
export const placeOf = (crud: Declared): Place | null => places[placeName(crud)]
export const idField = (schema: string): string => `${snake(schema)}_id`

/** The path parameter with the id of the resource. */
export const idParameter = (crud: Declared): string =>
  crud.parameter ?? (placeOf(crud) === null ? 'id' : idField(crud.schema))

/** ` of a project`; empty for the platform. */
export const ofOuter = (crud: Declared): string =>
  placeOf(crud) === null ? '' : ` of ${withArticle(outerOf(crud))}`

export const has = ({ without = [] }: Declared, verb: Verb): boolean => !without.includes(verb)
export const common = (kind: string, name: string): Json => ({
  $ref: `common.yaml#/components/${kind}/${name}`,
})
export const isMetadata = ({ $ref }: Json): boolean => $ref?.endsWith('/schemas/Metadata') === true
export const crudAt = (name: string): string => `#/paths/${escaped(name)}/x-crud`
export const schemaAt = (name: string): string => `#/components/schemas/${name}`

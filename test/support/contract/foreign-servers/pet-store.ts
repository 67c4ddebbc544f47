// A pet store in Fastify that knows nothing of this project, with switches for seeded defects.
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import Fastify, { type FastifyInstance, type FastifyReply } from 'fastify'

export const petStoreDefects = {
  'a creation answers 200': { operations: ['addPet'], checks: ['undeclared-status'] },
  'a declared header is missing': { operations: ['addPet'], checks: ['header'] },
  'a number is sent as text': { operations: ['getPet'], checks: ['body'] },
  'an undeclared property leaks': { operations: ['getPet'], checks: ['leak'] },
  'a deletion deletes nothing': { operations: ['deletePet'], checks: ['deleted-read'] },
  'a filter is ignored': { operations: ['listPets'], checks: ['filter'] },
  'a limit is ignored': { operations: ['listPets'], checks: ['page-length'] },
  'the second page repeats an item': { operations: ['listPets'], checks: ['page-duplicate', 'pages'] },
  'a new resource is in no list': { operations: ['listPets'], checks: ['list-membership'] },
  'an unusual text is a server error': { operations: ['addPet', 'replacePet'], checks: ['server-error'] },
  'an operation needs no key': { operations: ['getPet'], checks: ['no-key'] },
  "another user's pet can be read": { operations: ['getPet'], checks: ['tenant-isolation'] },
  'JSON is sent as text/plain': { operations: ['getPet'], checks: ['media-type'] },
  'errors are no problem+json': { operations: ['getPet', 'deletePet', 'replacePet'], checks: ['media-type'] },
  'a replacement loses the tags': { operations: ['replacePet'], checks: ['update-value', 'update-read'] },
} satisfies Record<string, { operations: string[]; checks: string[] }>

export type PetStoreDefect = keyof typeof petStoreDefects

interface Pet {
  id: number
  owner: string
  name: string
  species: string
  weight: number | null
  tags: string[]
}

interface Visit {
  id: number
  pet_id: number
  reason: string
  created_at: string
}

export const petStoreKeys = ['store-key-of-anna-0001', 'store-key-of-berta-0002'] as const

const species = { type: 'string', enum: ['cat', 'dog', 'parrot'] }
const petBody = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'species'],
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 60 },
    species,
    weight: { type: ['number', 'null'], exclusiveMinimum: 0, maximum: 900 },
    tags: { type: 'array', maxItems: 5, items: { type: 'string', minLength: 1, maxLength: 20 } },
  },
}
const visitBody = {
  type: 'object',
  additionalProperties: false,
  required: ['reason'],
  properties: { reason: { type: 'string', minLength: 1, maxLength: 100 } },
}
const integer = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER }
const params = { type: 'object', properties: { petId: integer, visitId: integer } }

/** Returns a server that does not listen yet. */
export function createPetStore(defect: PetStoreDefect | null = null): FastifyInstance {
  const has = (name: PetStoreDefect): boolean => defect === name
  const pets = new Map<number, Pet>()
  const visits = new Map<number, Visit>()
  let number = 0
  const strict = new Ajv({ allErrors: true })
  const coercing = new Ajv({ coerceTypes: true, useDefaults: true })
  for (const ajv of [strict, coercing]) formats.default(ajv)
  const app = Fastify({ forceCloseConnections: true })
  app.setValidatorCompiler(({ schema, httpPart }) =>
    (httpPart === 'body' ? strict : coercing).compile(schema as object),
  )
  const problem = (reply: FastifyReply, status: number, title: string): FastifyReply =>
    reply
      .code(status)
      .type(
        has('errors are no problem+json') && status === 404 ? 'application/json' : 'application/problem+json',
      )
      .send(JSON.stringify({ title, status }))
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) =>
    problem(reply, error.statusCode ?? 500, error.message),
  )
  app.setNotFoundHandler((_request, reply) => problem(reply, 404, 'Not found'))
  app.decorateRequest('owner', '')
  app.addHook('onRequest', async (request, reply) => {
    const key = String(request.headers['x-api-key'])
    request.owner = key
    const isOpen = has('an operation needs no key') && request.method === 'GET'
    if (!isOpen && !petStoreKeys.some((each) => each === key)) return problem(reply, 401, 'Unauthorized')
  })
  const toPet = ({ owner, ...pet }: Pet): object => ({
    ...pet,
    ...(has('an undeclared property leaks') && { owner }),
    ...(has('a number is sent as text') && pet.weight !== null && { weight: String(pet.weight) }),
  })
  const petOf = ({ params, owner }: { params: unknown; owner: string }): Pet | undefined => {
    const pet = pets.get((params as { petId: number }).petId)
    const isShared = has("another user's pet can be read") || has('an operation needs no key')
    return pet?.owner === owner || isShared ? pet : undefined
  }
  const bodyOf = (body: unknown): Omit<Pet, 'id' | 'owner'> => {
    const given = body as Partial<Pet>
    if (has('an unusual text is a server error') && /\p{Extended_Pictographic}|\u202e/u.test(given.name!))
      throw new Error('The encoding is not supported')
    return {
      name: given.name!,
      species: given.species!,
      weight: given.weight ?? null,
      tags: given.tags ?? [],
    }
  }

  app.get(
    '/pets',
    {
      schema: {
        querystring: {
          type: 'object',
          properties: {
            species,
            limit: { ...integer, maximum: 50, default: 20 },
            offset: { type: 'integer', minimum: 0, default: 0 },
          },
        },
      },
    },
    async (request, reply) => {
      const query = request.query as { species?: string; limit: number; offset: number }
      const isFiltered = query.species !== undefined && !has('a filter is ignored')
      const own = [...pets.values()].filter(
        (pet) => pet.owner === request.owner && (!isFiltered || pet.species === query.species),
      )
      const listed = has('a new resource is in no list') ? own.slice(0, 1) : own
      const start = query.offset - (has('the second page repeats an item') && query.offset > 0 ? 1 : 0)
      const end = has('a limit is ignored') ? Infinity : start + query.limit
      return reply.header('x-total-count', listed.length).send(listed.slice(start, end).map(toPet))
    },
  )
  app.post('/pets', { schema: { body: petBody } }, async (request, reply) => {
    const pet = { id: ++number, owner: request.owner, ...bodyOf(request.body) }
    pets.set(pet.id, pet)
    if (!has('a declared header is missing')) reply.header('location', `/pets/${pet.id}`)
    return reply.code(has('a creation answers 200') ? 200 : 201).send(toPet(pet))
  })
  app.get('/pets/:petId', { schema: { params } }, async (request, reply) => {
    const pet = petOf(request)
    if (pet === undefined) return problem(reply, 404, 'Not found')
    return has('JSON is sent as text/plain')
      ? reply.type('text/plain').send(JSON.stringify(toPet(pet)))
      : reply.send(toPet(pet))
  })
  app.put('/pets/:petId', { schema: { params, body: petBody } }, async (request, reply) => {
    const pet = petOf(request)
    if (pet === undefined) return problem(reply, 404, 'Not found')
    Object.assign(pet, bodyOf(request.body))
    if (has('a replacement loses the tags')) pet.tags = []
    return reply.send(toPet(pet))
  })
  app.delete('/pets/:petId', { schema: { params } }, async (request, reply) => {
    const pet = petOf(request)
    if (pet === undefined) return problem(reply, 404, 'Not found')
    if (!has('a deletion deletes nothing')) pets.delete(pet.id)
    return reply.code(204).send()
  })
  app.get('/pets/:petId/visits', { schema: { params } }, async (request, reply) => {
    const pet = petOf(request)
    if (pet === undefined) return problem(reply, 404, 'Not found')
    return reply.send([...visits.values()].filter((visit) => visit.pet_id === pet.id))
  })
  app.post('/pets/:petId/visits', { schema: { params, body: visitBody } }, async (request, reply) => {
    const pet = petOf(request)
    if (pet === undefined) return problem(reply, 404, 'Not found')
    const { reason } = request.body as { reason: string }
    const visit = { id: ++number, pet_id: pet.id, reason, created_at: new Date().toISOString() }
    visits.set(visit.id, visit)
    return reply.code(201).send(visit)
  })
  app.get('/pets/:petId/visits/:visitId', { schema: { params } }, async (request, reply) => {
    const visit = visits.get((request.params as { visitId: number }).visitId)
    if (petOf(request) === undefined || visit?.pet_id !== petOf(request)!.id)
      return problem(reply, 404, 'Not found')
    return reply.send(visit)
  })
  return app
}

declare module 'fastify' {
  interface FastifyRequest {
    owner: string
  }
}

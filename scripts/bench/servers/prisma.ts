// Shared by the NestJS and the Express server: this project's Prisma client, used as in Prisma's guide.
import { createHash } from 'node:crypto'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient, type Member, type Project } from '../../../generated/prisma/client.js'
import { newId } from '../../../infra/ids.ts'

export interface ProjectFields {
  name: string
  description?: string | null
  category?: string | null
  tags?: string[]
  metadata?: Record<string, string>
}

export const prisma = new PrismaClient({
  adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL, max: 10 }),
})

const known = new Map<string, string>()

/**
 * The id of the key's user, or null. Keys are cached forever, which no server should do; in this comparison
 * it favors the other frameworks.
 */
export async function userOf(authorization: string | undefined): Promise<string | null> {
  const secret = /^Bearer (.+)$/.exec(authorization ?? '')?.[1]
  if (secret === undefined) return null
  const digest = createHash('sha256').update(secret).digest('hex')
  const found = known.get(digest)
  if (found !== undefined) return found
  const key = await prisma.apiKey.findUnique({
    where: { digest: Buffer.from(digest, 'hex') },
    include: { user: true },
  })
  if (key === null || key.revokedAt !== null || key.user.status !== 'active') return null
  known.set(digest, key.userId)
  return key.userId
}

export async function getProject(userId: string, id: string) {
  const project = await prisma.project.findUnique({
    where: { id },
    include: { members: { where: { userId } } },
  })
  if (project === null || project.members.length === 0) return null
  return shown(project)
}

export async function listProjects(userId: string, page: number, limit: number) {
  const where = { members: { some: { userId, projectStatus: { not: 'deleted' as const } } } }
  const [projects, total] = await Promise.all([
    prisma.project.findMany({
      where,
      include: { members: { where: { userId } } },
      orderBy: { id: 'desc' },
      skip: (page - 1) * limit,
      take: limit,
    }),
    prisma.project.count({ where }),
  ])
  return {
    data: projects.map(shown),
    pagination: {
      page,
      limit,
      total,
      total_pages: Math.ceil(total / limit),
      has_more: page * limit < total,
    },
  }
}

export async function createProject(userId: string, fields: ProjectFields) {
  return await prisma.$transaction(async (tx) => {
    const project = await tx.project.create({
      data: {
        id: newId('prj'),
        ...fields,
        ownerId: userId,
        createdById: userId,
        members: { create: { id: newId('mem'), userId, role: 'owner' } },
      },
      include: { members: { where: { userId } } },
    })
    // A trigger updates the member count, possibly after the row was read.
    const made = { ...shown(project), member_count: 1 }
    await tx.event.create({ data: eventOf('project.created', userId, made, {}) })
    return made
  })
}

export async function updateProject(userId: string, id: string, { name }: { name: string }) {
  return await prisma.$transaction(async (tx) => {
    const before = await tx.project.findUnique({ where: { id }, include: { members: { where: { userId } } } })
    if (before === null || before.members.length === 0) return null
    const after = await tx.project.update({
      where: { id },
      data: { name, version: { increment: 1 }, updatedAt: new Date() },
      include: { members: { where: { userId } } },
    })
    const previous = { name: before.name, version: before.version, updated_at: before.updatedAt }
    await tx.event.create({ data: eventOf('project.updated', userId, shown(after), previous) })
    return shown(after)
  })
}

function eventOf(type: string, userId: string, { your_role: _role, ...object }: any, previous: object) {
  return {
    id: newId('evt'),
    type,
    projectId: object.id,
    scope: 'projects:read',
    role: 'viewer' as const,
    requestId: 'req_a84eaa4eae1b42799e3d0c6e06d739f3',
    actor: { id: 'key_01m84k6n11fvgsq2hcjqhq0r57', name: 'bench', type: 'api_key', user_id: userId },
    data: { object, previous_attributes: previous } as object,
  }
}

function shown(project: Project & { members: Member[] }) {
  return {
    id: project.id,
    name: project.name,
    description: project.description,
    status: project.status,
    category: project.category,
    owner_id: project.ownerId,
    organization_id: project.organizationId,
    created_by: project.createdById,
    tags: project.tags,
    member_count: project.memberCount,
    your_role: project.members[0].role,
    metadata: project.metadata,
    version: project.version,
    created_at: project.createdAt,
    updated_at: project.updatedAt,
    archived_at: project.archivedAt,
    deleted_at: project.deletedAt,
  }
}

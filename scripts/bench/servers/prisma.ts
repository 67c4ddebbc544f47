// Shared by the NestJS and the Express server: this project's Prisma client, used as in Prisma's guide.
import { createHash } from 'node:crypto'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient, type Member, type Project } from '../../../generated/prisma/client.ts'
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
    pagination: { page, limit, total, total_pages: Math.ceil(total / limit) },
  }
}

export async function createProject(userId: string, fields: ProjectFields) {
  const project = await prisma.project.create({
    data: {
      id: newId('prj'),
      ...fields,
      ownerId: userId,
      members: { create: { id: newId('mem'), userId, role: 'owner' } },
    },
    include: { members: { where: { userId } } },
  })
  // A trigger updates the member count, possibly after the row was read.
  return { ...shown(project), member_count: 1 }
}

function shown(project: Project & { members: Member[] }) {
  return {
    id: project.id,
    name: project.name,
    description: project.description,
    status: project.status,
    category: project.category,
    owner_id: project.ownerId,
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

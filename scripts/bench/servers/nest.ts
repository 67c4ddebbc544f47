// NestJS on Express, with Prisma, class-validator and a guard. Node does not support decorators, so they are
// applied by hand after each class, with the same effect.
import 'reflect-metadata'
import {
  Body,
  Controller,
  Get,
  Injectable,
  Module,
  NotFoundException,
  Param,
  Post,
  Put,
  Query,
  Req,
  UnauthorizedException,
  UseGuards,
  ValidationPipe,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { Type } from 'class-transformer'
import {
  ArrayMaxSize,
  IsArray,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  MaxLength,
  Min,
} from 'class-validator'
import {
  createProject,
  getProject,
  listProjects,
  updateProject,
  userOf,
  type ProjectFields,
} from './prisma.ts'

class ProjectId {
  declare id: string
}
decorateProperty(ProjectId, 'id', String, Matches(/^prj_[0-7][0-9a-hjkmnp-tv-z]{25}$/))

class ProjectQuery {
  page = 1
  limit = 20
}
decorateProperty(
  ProjectQuery,
  'page',
  Number,
  IsOptional(),
  Type(() => Number),
  IsInt(),
  Min(1),
)
decorateProperty(
  ProjectQuery,
  'limit',
  Number,
  IsOptional(),
  Type(() => Number),
  IsInt(),
  Min(1),
  Max(100),
)

class ProjectCreate {
  declare name: string
  declare description?: string
  declare category?: string
  declare tags?: string[]
  declare metadata?: Record<string, string>
}
decorateProperty(ProjectCreate, 'name', String, IsString(), Length(1, 100))
decorateProperty(ProjectCreate, 'description', String, IsOptional(), IsString(), MaxLength(5000))
decorateProperty(ProjectCreate, 'category', String, IsOptional(), IsString(), Length(1, 64))
decorateProperty(
  ProjectCreate,
  'tags',
  Array,
  IsOptional(),
  IsArray(),
  ArrayMaxSize(20),
  IsString({ each: true }),
  MaxLength(50, { each: true }),
)
decorateProperty(ProjectCreate, 'metadata', Object, IsOptional(), IsObject())

class ProjectUpdate {
  declare name: string
}
decorateProperty(ProjectUpdate, 'name', String, IsString(), Length(1, 100))

class KeyGuard {
  async canActivate(context: any): Promise<boolean> {
    const request = context.switchToHttp().getRequest()
    request.userId = await userOf(request.headers.authorization)
    if (request.userId === null) throw new UnauthorizedException()
    return true
  }
}
Injectable()(KeyGuard)

class ProjectsService {
  list(userId: string, { page, limit }: ProjectQuery) {
    return listProjects(userId, page, limit)
  }
  create(userId: string, fields: ProjectFields) {
    return createProject(userId, fields)
  }
  async update(userId: string, id: string, fields: ProjectUpdate) {
    const project = await updateProject(userId, id, fields)
    if (project === null) throw new NotFoundException()
    return project
  }
  async get(userId: string, id: string) {
    const project = await getProject(userId, id)
    if (project === null) throw new NotFoundException()
    return project
  }
}
Injectable()(ProjectsService)

class ProjectsController {
  projects: ProjectsService
  constructor(projects: ProjectsService) {
    this.projects = projects
  }
  list(request: any, query: ProjectQuery) {
    return this.projects.list(request.userId, query)
  }
  create(request: any, body: ProjectCreate) {
    return this.projects.create(request.userId, body)
  }
  update(request: any, params: ProjectId, body: ProjectUpdate) {
    return this.projects.update(request.userId, params.id, body)
  }
  get(request: any, params: ProjectId) {
    return this.projects.get(request.userId, params.id)
  }
}
Reflect.defineMetadata('design:paramtypes', [ProjectsService], ProjectsController)
decorateMethod('list', [Get()], [Req(), Query()], [Object, ProjectQuery])
decorateMethod('create', [Post()], [Req(), Body()], [Object, ProjectCreate])
decorateMethod('update', [Put(':id')], [Req(), Param(), Body()], [Object, ProjectId, ProjectUpdate])
decorateMethod('get', [Get(':id')], [Req(), Param()], [Object, ProjectId])
UseGuards(KeyGuard)(ProjectsController)
Controller('v1/projects')(ProjectsController)

class AppModule {}
Module({ controllers: [ProjectsController], providers: [ProjectsService, KeyGuard] })(AppModule)

const app = await NestFactory.create(AppModule)
app.useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }))
await app.listen(0, '127.0.0.1')
process.stderr.write(`serving at http://127.0.0.1:${app.getHttpServer().address().port}\n`)

function decorateProperty(
  type: { prototype: object },
  name: string,
  design: unknown,
  ...decorators: any[]
): void {
  Reflect.defineMetadata('design:type', design, type.prototype, name)
  for (const decorate of decorators) decorate(type.prototype, name)
}

function decorateMethod(
  name: 'list' | 'create' | 'update' | 'get',
  methods: any[],
  parameters: any[],
  types: unknown[],
): void {
  Reflect.defineMetadata('design:paramtypes', types, ProjectsController.prototype, name)
  parameters.forEach((decorate, i) => decorate(ProjectsController.prototype, name, i))
  for (const decorate of methods)
    decorate(
      ProjectsController.prototype,
      name,
      Object.getOwnPropertyDescriptor(ProjectsController.prototype, name),
    )
}

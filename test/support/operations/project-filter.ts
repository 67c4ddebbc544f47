// Requests for lists that can be filtered by project.
import type { FixtureContext, RequestBuilder } from './operation-fixture.ts'
import { createProject } from '../database/db-fixtures.ts'

/** The random part of an id that belongs to no resource. */
export const unknownUlid = '01jd6y8m5qe8btc4y5w1r0n3fz'

/** A list filtered by a project, with one row in that project and one outside of it. */
export const ofProject =
  (insert: (context: FixtureContext, projectId?: string) => Promise<unknown>): RequestBuilder =>
  async (context) => {
    const project = await createProject(context)
    await insert(context)
    await insert(context, project)
    return { query: { project_id: project }, project }
  }
/** A list filtered by a project that does not exist. */
export const ofNoProject: RequestBuilder = () => ({ query: { project_id: `prj_${unknownUlid}` } })
/** A list without a filter, with one row of the caller. */
export const ownAlone =
  (insert: (context: FixtureContext) => Promise<unknown>): RequestBuilder =>
  async (context) => {
    await insert(context)
    return {}
  }

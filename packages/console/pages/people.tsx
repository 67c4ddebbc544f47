// People and access: who can do what in the chosen project or organization and why, invitations, and the
// service accounts, keys, roles and sessions beneath.
import { useState } from 'preact/hooks'
import { useReady } from '../detail.tsx'
import { FormDialog } from '../form.tsx'
import { InnerList } from '../list.tsx'
import { listAt } from '../model.ts'
import { currentPlace, href, type Place } from '../router.ts'
import { call, failureOf, isAllowed, type Failure } from '../session.ts'
import { Dialog, Problem, RowTable, Skeleton, useLoaded } from '../ui.tsx'
import { State, useCopy } from '../value.tsx'

interface Access {
  id: string
  name: string
  email: string | null
  role: string
  /** What gives the role: the project, the organization, a folder, or an invitation. */
  source: string
  status?: string
  /** Whether the person must accept first. */
  isInvited?: boolean
  /** The page of the source. */
  path: string
  /** Sends another role, if the person may change it. */
  change?: (role: string) => Promise<unknown>
  /** The operations that end the access, or send the invitation again. */
  remove?: Action
  resend?: Action
}

interface Action {
  title: string
  operation: string
  values: Record<string, string>
}

interface Loaded {
  name: string
  isAdmin: boolean
  /** The values and names of the roles that can be given. */
  roles: Array<[value: string, text: string]>
  people: Access[]
  organizationId: string | null
  /** Whether only the folders that were changed last are included. */
  isPartial: boolean
}

const meanings: Record<string, string> = {
  viewer: 'reads everything',
  editor: 'reads and changes',
  admin: 'also manages people',
  owner: 'also deletes it',
  member: 'has the projects that they are in',
}

const meaning = (role: string): string => (role in meanings ? `${role}: ${meanings[role]}` : role)
const maxFolders = 20
const invited = 'invited, must accept'

/** The items of a list; none if the person may not see them. */
async function all(operation: string, path: Record<string, string>, query: object = {}): Promise<any[]> {
  if (!isAllowed(operation)) return []
  try {
    return (await call(operation, { path, query: { limit: 100, ...query } })).data.data
  } catch (error) {
    if (['FORBIDDEN', 'NOT_FOUND'].includes(failureOf(error).code ?? '')) return []
    throw error
  }
}

const nameOf = ({ name, email }: { name: string; email: string }): string => name || email

async function ofProject(id: string): Promise<Loaded> {
  const { data: project } = await call('getProject', { path: { id } })
  const { name, organization_id: organizationId, your_role: own } = project
  const isAdmin = own === 'admin' || own === 'owner'
  const [members, invitations, custom, folders] = await Promise.all([
    all('listMembers', { id }),
    isAdmin ? all('listInvitations', { id }, { status: 'pending' }) : [],
    organizationId === null ? [] : all('listCustomRoles', { id: organizationId }),
    isAllowed('listShares') ? all('listFolders', {}, { project_id: id, parent_id: '*' }) : [],
  ])
  const shares = await Promise.all(folders.slice(0, maxFolders).map((each) => all('listShares', each)))
  const basic = ['viewer', 'editor', 'admin', ...(own === 'owner' ? ['owner'] : [])]
  return {
    name,
    isAdmin,
    organizationId,
    isPartial: folders.length > maxFolders,
    roles: [
      ...basic.map((role): [string, string] => [role, meaning(role)]),
      ...custom.map((role): [string, string] => [role.id, role.name]),
    ],
    people: [
      ...members.map((member): Access => {
        const values = { id, member_id: member.id }
        const mayChange = isAdmin && (member.role !== 'owner' || own === 'owner')
        return {
          id: member.id,
          name: nameOf(member.user),
          email: member.user.email,
          role: member.custom_role_id ?? member.role,
          source: member.organization_role === null ? 'Project' : `Organization ${member.organization_role}`,
          path: `/projects/${id}/members/${member.id}`,
          ...(mayChange && {
            change: (role) =>
              call('updateMember', {
                path: values,
                body: role.startsWith('rol_') ? { custom_role_id: role } : { role },
              }),
            remove: { title: 'Remove', operation: 'removeMember', values },
          }),
        }
      }),
      ...invitations.map((invitation): Access => {
        const values = { id, invitation_id: invitation.id }
        return {
          id: invitation.id,
          name: invitation.email ?? invitation.user_id,
          email: null,
          role: invitation.role,
          source: 'Invitation',
          status: invited,
          isInvited: true,
          path: `/projects/${id}/invitations/${invitation.id}`,
          remove: { title: 'Revoke', operation: 'revokeInvitation', values },
          resend: { title: 'Resend', operation: 'resendInvitation', values },
        }
      }),
      ...shares.flat().map((share): Access => ({
        id: share.id,
        name: share.email,
        email: null,
        role: share.role,
        source: `Folder ${share.folder_name}`,
        status: share.status === 'active' ? undefined : share.status,
        path: `/storage/folders/${share.folder_id}`,
        remove: {
          title: 'End',
          operation: 'deleteShare',
          values: { id: share.folder_id, share_id: share.id },
        },
      })),
    ],
  }
}

async function ofOrganization(id: string): Promise<Loaded> {
  const { data: organization } = await call('getOrganization', { path: { id } })
  const members = await all('listOrganizationMembers', { id })
  const own = organization.your_membership?.role
  const isAdmin = own === 'admin' || own === 'owner'
  return {
    name: organization.name,
    isAdmin,
    organizationId: id,
    isPartial: false,
    roles: ['member', 'admin', ...(own === 'owner' ? ['owner'] : [])].map((role) => [role, meaning(role)]),
    people: members.map((member): Access => {
      const values = { id, member_id: member.id }
      const isMember = member.status === 'active'
      const isInvited = member.status === 'invited'
      const mayChange = isAdmin && (member.role !== 'owner' || own === 'owner')
      return {
        id: member.id,
        name: member.user === null ? (member.email ?? member.user_id) : nameOf(member.user),
        email: member.user?.email ?? null,
        role: member.role,
        source: isMember ? 'Organization' : 'Invitation',
        status: isMember ? undefined : isInvited ? invited : member.status,
        isInvited,
        path: `/organizations/${id}/members/${member.id}`,
        ...(mayChange && {
          ...(isMember && {
            change: (role) => call('updateOrganizationMember', { path: values, body: { role } }),
          }),
          remove: { title: 'Remove', operation: 'removeOrganizationMember', values },
        }),
      }
    }),
  }
}

export function PeoplePage() {
  const place = currentPlace()
  const id = place.project_id ?? place.organization_id
  return id === undefined ? <Choice /> : <People key={id} place={place} />
}

/** The projects and organizations whose people can be shown. */
function Choice() {
  const found = useLoaded(async () => {
    const [projects, organizations] = await Promise.all([
      all('listProjects', {}, { sort: 'name', order: 'asc' }),
      all('listOrganizations', {}),
    ])
    return [
      ...organizations.map(({ id, name }) => ({
        name,
        kind: 'organization',
        place: { organization_id: id },
      })),
      ...projects.map(({ id, name }) => ({ name, kind: 'project', place: { project_id: id } })),
    ]
  }, '')
  return (
    <section>
      <header>
        <h1>People</h1>
      </header>
      <p>Choose a project or an organization to see who can do what there.</p>
      {found.failure !== null && <Problem failure={found.failure} retry={found.reload} />}
      {found.value === null && found.failure === null && <Skeleton />}
      {found.value?.length === 0 && (
        <p class="empty">
          There are none yet. <a href={href('/projects')}>Create a project</a>
        </p>
      )}
      <ul class="events">
        {found.value?.map(({ name, kind, place }) => (
          <li key={JSON.stringify(place)}>
            <a href={href('/people', {}, place)}>{name}</a> <span class="soft">{kind}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function People({ place }: { place: Place }) {
  const { project_id: projectId, organization_id: own } = place
  const id = (projectId ?? own)!
  const loaded = useLoaded(() => (projectId === undefined ? ofOrganization(id) : ofProject(id)), id)
  const organizationId = loaded.value?.organizationId ?? null
  const lists = [
    { path: '/service-accounts', query: { ...place } as Record<string, string> },
    ...(organizationId === null ? [] : [{ path: `/organizations/${organizationId}/roles`, query: {} }]),
    { path: '/user/api-keys', title: 'Your API keys', query: {} },
    { path: '/user/sessions', title: 'Your sessions', query: {} },
  ].flatMap(({ path, title, query }) => {
    const at = listAt(path)!
    return isAllowed(at.page.operation)
      ? [{ path, filter: query, values: at.values, title, list: at.page }]
      : []
  })
  const { isReady, onReady } = useReady()
  const isShown = isReady(lists.length)
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  if (loaded.value === null) return <Skeleton rows={8} />
  return (
    <>
      {!isShown && <Skeleton rows={8} />}
      <section class={isShown ? undefined : 'unready'}>
        <Table {...loaded.value} id={id} isProject={projectId !== undefined} reload={loaded.reload} />
        {lists.map((each) => (
          <InnerList key={each.path} {...each} owner={{}} round={0} onReady={onReady} />
        ))}
      </section>
    </>
  )
}

type TableProps = Loaded & { id: string; isProject: boolean; reload: () => void }

function Table({ name, isAdmin, roles, people, isPartial, id, isProject, reload }: TableProps) {
  const [isInviting, setIsInviting] = useState(false)
  const [action, setAction] = useState<Action | null>(null)
  const [failure, setFailure] = useState<Failure | null>(null)
  const [said, setSaid] = useState('')
  const operation = isProject ? 'addMember' : 'addOrganizationMember'
  const change = (person: Access, role: string): void => {
    setFailure(null)
    person.change!(role)
      .then(
        () => setSaid(`${person.name} has another role.`),
        (error) => setFailure(failureOf(error)),
      )
      .finally(reload)
  }
  return (
    <>
      <header>
        <h1>People in {name}</h1>
        {isAdmin && isAllowed(operation) && (
          <button type="button" class="main" onClick={() => setIsInviting(true)}>
            Invite
          </button>
        )}
      </header>
      <p role="status" class="soft">
        {said || (isPartial ? `With the shares of ${maxFolders} folders.` : '')}
      </p>
      {failure !== null && <Problem failure={failure} />}
      <RowTable
        label="People"
        kind="people"
        columns={['Person', 'Role', 'From', '']}
        rows={people}
        cells={(person: Access) => [
          <div>
            {person.name}
            {person.email !== null && person.email !== person.name && <small>{person.email}</small>}
          </div>,
          person.change === undefined ? (
            (roles.find(([value]) => value === person.role)?.[1].split(':')[0] ?? person.role)
          ) : (
            <select
              aria-label={`Role of ${person.name}`}
              value={person.role}
              onChange={(event) => change(person, event.currentTarget.value)}
            >
              {roles.map(([value, text]) => (
                <option key={value} value={value}>
                  {text.split(':')[0]}
                </option>
              ))}
            </select>
          ),
          <span>
            <a href={href(person.path)}>{person.source}</a>{' '}
            {person.status !== undefined && <State value={person.status} />}
          </span>,
          <span class="actions">
            {person.isInvited && <CopyLink {...person} />}
            {[person.resend, person.remove].map(
              (each) =>
                each !== undefined &&
                isAllowed(each.operation) && (
                  <button
                    key={each.operation}
                    type="button"
                    aria-label={`${each.title} ${person.name}`}
                    onClick={() => setAction(each)}
                  >
                    {each.title}
                  </button>
                ),
            )}
          </span>,
        ]}
      />
      {isInviting && (
        <Invite
          {...{ name, operation, id }}
          roles={roles.filter(([value]) => !value.startsWith('rol_'))}
          onClose={() => setIsInviting(false)}
          onDone={(text) => {
            setSaid(text)
            reload()
          }}
        />
      )}
      {action !== null && (
        <FormDialog {...action} item={null} onClose={() => setAction(null)} onDone={reload} />
      )}
    </>
  )
}

/** Copies the address of the page where an invited person accepts. */
function CopyLink({ id, name }: Pick<Access, 'id' | 'name'>) {
  const { said = 'Copy link', ...handlers } = useCopy(`${location.origin}/invitations/${id}`)
  return (
    <button type="button" aria-label={`Copy the link for ${name}`} {...handlers}>
      {said}
    </button>
  )
}

interface InviteProps extends Pick<Loaded, 'name' | 'roles'> {
  operation: string
  id: string
  onClose: () => void
  onDone: (text: string) => void
}

function Invite({ name, roles, operation, id, onClose, onDone }: InviteProps) {
  const [failure, setFailure] = useState<Failure | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  async function invite(form: FormData): Promise<void> {
    setIsBusy(true)
    setFailure(null)
    const body = { email: String(form.get('email')).trim(), role: form.get('role') }
    try {
      const { data } = await call(operation, { path: { id }, body })
      onClose()
      onDone(
        data.status === 'active'
          ? `${body.email} is a member now.`
          : `${body.email} is invited and must accept. If this server sends e-mails, one has the link.`,
      )
    } catch (error) {
      setFailure(failureOf(error))
      setIsBusy(false)
    }
  }
  return (
    <Dialog title={`Invite to ${name}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void invite(new FormData(event.currentTarget))
        }}
      >
        <div class="field">
          <label for="invite-email">Email address</label>
          <input id="invite-email" name="email" type="email" required autoComplete="off" />
        </div>
        <div class="field">
          <label for="invite-role">Role</label>
          <select id="invite-role" name="role">
            {roles.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </div>
        {failure !== null && <Problem failure={failure} />}
        <footer>
          <button type="submit" class="main" disabled={isBusy}>
            {isBusy ? 'Sending…' : 'Invite'}
          </button>
        </footer>
      </form>
    </Dialog>
  )
}

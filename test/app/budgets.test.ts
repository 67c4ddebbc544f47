// The budgets of the hottest operations, in counts: the same on a machine that is five times slower.
import t from 'tap'
import { budgetProblems, measureCosts, readBudgets } from '../../scripts/bench/budgets.ts'
import { openStage } from '../../scripts/bench/stage.ts'

const advice = 'after a change that is meant: npm run bench -- budgets --update'

t.test('no request costs more than its budget, or far less', { timeout: 240_000 }, async (t) => {
  const stage = openStage()
  t.teardown(() => stage.close())
  t.same(budgetProblems(await measureCosts(stage), readBudgets()), [], advice)
})

t.test('a budget that is exceeded, far too high, missing or unused is a problem', async (t) => {
  const budgets = readBudgets()
  const { getProject, ...others } = budgets
  const withCost = (change: Partial<typeof getProject>) =>
    budgetProblems({ ...budgets, getProject: { ...getProject, ...change } }, budgets)
  t.same(withCost({}), [])
  for (const name of Object.keys(getProject) as Array<keyof typeof getProject>)
    t.match(withCost({ [name]: getProject[name] + 1 }), [`getProject: ${name} is`], name)
  t.match(withCost({ statements: 0 }), [/statements is 0, the budget is 1: tighten it/])
  t.match(withCost({ timers: getProject.timers - 1 }), [/tighten it/])
  t.match(withCost({ bytes_logged: getProject.bytes_logged / 2 }), [/tighten it/])
  t.match(budgetProblems(budgets, others), [/getProject: .* missing/])
  t.match(budgetProblems(others, budgets), [/getProject has a budget, but is not measured/])
})

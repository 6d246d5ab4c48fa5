import {
  exclusiveChances,
  YES_NO,
  type Calendar,
  type PlanTopic,
  type TopicPlan,
} from './topic-plan.ts'
import type { Answer, TopicSeries } from '../../core/upstream.ts'
import type { Random } from '../random.ts'
import { COUNTRIES, FIRST_NAMES, STATES, SURNAMES } from './words.ts'

/** Elections of an office: 3 to 40 candidates, one of whom wins. */
export const planElection: PlanTopic = (n, calendar, random) => {
  const { series, tags } = OFFICES[n % OFFICES.length]!
  const ordinal = Math.floor(n / OFFICES.length)
  const closeTime = calendar.closeOf(ordinal, 728, (n % OFFICES.length) % 350)
  const name = `${new Date(closeTime).getUTCFullYear()} ${series.title}`
  return contest({ n, calendar, random, series, closeTime }, 'Politics', tags, name)
}

/** Awards: 3 to 40 nominees, one of whom wins. */
export const planAward: PlanTopic = (n, calendar, random) => {
  const series = AWARDS[n % AWARDS.length]!
  const ordinal = Math.floor(n / AWARDS.length)
  const closeTime = calendar.closeOf(ordinal, 364, (n % AWARDS.length) * 2)
  const name = `${new Date(closeTime).getUTCFullYear()} ${series.title}`
  const tags = ['Awards', 'Culture']
  const plan = contest({ n, calendar, random, series, closeTime }, 'Entertainment', tags, name)
  return { ...plan, kind: 'award' }
}

type Contest = {
  readonly n: number
  readonly calendar: Calendar
  readonly random: Random
  readonly series: TopicSeries
  readonly closeTime: number
}

function contest(of: Contest, category: string, tags: readonly string[], name: string): TopicPlan {
  const { n, calendar, random, series, closeTime } = of
  const count = 3 + Math.floor(38 * random.next() ** 3)
  const answers = Array.from({ length: count }, (_, at): Answer => {
    const surname = SURNAMES[(n * 13 + at * 7) % SURNAMES.length]!
    const label = `${FIRST_NAMES[random.int(FIRST_NAMES.length)]} ${surname}`
    const code = surname.toUpperCase()
    return { code, label, question: `Will ${label} win the ${name}?`, outcomes: YES_NO }
  })
  return {
    kind: 'election',
    category,
    tags,
    series,
    code: calendar.codeOf(closeTime),
    title: `${name} winner?`,
    isExclusive: true,
    answers,
    chances: exclusiveChances(count, random),
    closeTime,
  }
}

type Office = { readonly series: TopicSeries; readonly tags: readonly string[] }

const OFFICES: readonly Office[] = [
  ...COUNTRIES.map(([code, name]) =>
    office(`PRES${code}`, `${name} presidential election`, 'World'),
  ),
  ...[
    ['GOV', 'governor election'],
    ['SEN', 'Senate election'],
    ['AG', 'attorney general election'],
  ].flatMap(([code, title]) =>
    STATES.map(([state, name]) => office(`${code}${state}`, `${name} ${title}`, 'US Elections')),
  ),
  ...STATES.flatMap(([state, name]) =>
    Array.from({ length: 8 }, (_, at) =>
      office(`HOUSE${state}${at + 1}`, `${name} House district ${at + 1} race`, 'US Elections'),
    ),
  ),
]

function office(code: string, title: string, tag: string): Office {
  return { series: { code, title, frequency: 'custom' }, tags: ['Politics', 'Elections', tag] }
}

const AWARDS: readonly TopicSeries[] = [
  ['OSCAR', 'Academy Award'],
  ['GRAM', 'Grammy Award'],
  ['EMMY', 'Emmy Award'],
  ['GLOBE', 'Golden Globe'],
  ['BAFTA', 'BAFTA Award'],
].flatMap(([code, title]) =>
  [
    ['PIC', 'for best picture'],
    ['DIR', 'for best director'],
    ['ACTO', 'for best actor'],
    ['ACTR', 'for best actress'],
    ['SONG', 'for best song'],
    ['SCORE', 'for best score'],
    ['WRITE', 'for best writing'],
    ['NEW', 'for best newcomer'],
  ].map(([part, words]) => ({
    code: `${code}${part}`,
    title: `${title} ${words}`,
    frequency: 'annual',
  })),
)

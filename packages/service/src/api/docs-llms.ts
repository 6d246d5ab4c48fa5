import { PROBLEMS } from '@priorbook/sdk/wire'
import type { Plan } from './auth/plans.ts'
import type { Route } from './kit/route.ts'
import { ABOUT } from './openapi.ts'

/** `/llms.txt`: the whole interface in plain text. */
export function toLlmsText(routes: readonly Route[], plans: readonly Plan[]): string {
  const errors = Object.entries(PROBLEMS).map(
    ([code, { status, title }]) => `- ${status} \`${code}\`: ${title}`,
  )
  return [
    '# Priorbook',
    '',
    '> Historical order books of prediction markets over REST.',
    '',
    ABOUT,
    '',
    'OpenAPI: /v3/openapi.json. Docs for people: /docs.',
    '',
    '## Plans',
    '',
    ...plans.map(planLine),
    '',
    '## Routes',
    ...routes.filter(({ address }) => address.startsWith('/v3/')).flatMap(routeLines),
    '',
    '## Errors',
    '',
    ...errors,
    '',
  ].join('\n')
}

function routeLines(route: Route): string[] {
  const { address, aliases = [], summary, description, formats = [], query } = route
  const params = Object.entries(query).map(([name, param]) => {
    const need = param.isRequired === true ? ', required' : ''
    const example = param.example === undefined ? '' : ` Such as \`${param.example}\`.`
    return `- \`${name}\`${need}: ${param.description}${example}`
  })
  return [
    '',
    `### GET ${address}`,
    '',
    `${summary}. ${description}${route.isKeyless === true ? '' : ' Needs a key.'}`,
    ...(aliases.length === 0 ? [] : [`Also at ${aliases.join(', ')}.`]),
    ...(formats.length === 0 ? [] : [`Formats: json, ${formats.join(', ')}.`]),
    ...params,
  ]
}

function planLine({ name, venues, assets, days, ...plan }: Plan): string {
  const rates = [
    ...(plan.per_second === null ? [] : [`${plan.per_second} requests a second`]),
    ...(plan.per_minute === null ? [] : [`${plan.per_minute} a minute`]),
  ]
  return [
    `- \`${name}\`: ${venues.join(', ')}`,
    assets === null ? 'all assets' : `assets ${assets.join(', ')}`,
    days === null ? 'all history' : `the last ${days} days`,
    rates.length === 0 ? 'no rate limit' : rates.join(', '),
    ...plan.features,
  ].join('; ')
}

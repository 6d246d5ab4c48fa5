import {
  ABOUT,
  PROBLEMS,
  STREAM_ERRORS,
  STREAM_MESSAGE_SCHEMAS,
  STREAM_REQUEST_SCHEMAS,
  type JsonSchema,
} from '@priorbook/sdk/wire'
import type { Plan } from '../auth/plans.ts'
import type { Route } from '../route.ts'
import { STREAM_ABOUT } from './asyncapi.ts'

/** `/llms.txt`: the whole interface in plain text. */
export function toLlmsText(routes: readonly Route[], plans: readonly Plan[]): string {
  const errors = Object.entries(PROBLEMS).map(
    ([code, { status, title }]) => `- ${status} \`${code}\`: ${title}`,
  )
  return [
    '# Priorbook',
    '',
    '> Historical and live order books of prediction markets over REST and WebSocket.',
    '',
    ABOUT,
    '',
    'OpenAPI: /v3/openapi.json. AsyncAPI: /v3/asyncapi.json. Docs for people: /docs.',
    '',
    '## Plans',
    '',
    ...plans.map(planLine),
    '',
    '## Routes',
    ...routes.filter(({ address }) => address.startsWith('/v3/')).flatMap(routeLines),
    '',
    '## Stream',
    '',
    STREAM_ABOUT,
    '',
    ...streamLines('client', STREAM_REQUEST_SCHEMAS),
    ...streamLines('server', STREAM_MESSAGE_SCHEMAS),
    '',
    '## Errors',
    '',
    ...errors,
    ...Object.entries(STREAM_ERRORS).map(([code, title]) => `- stream \`${code}\`: ${title}`),
    '',
  ].join('\n')
}

function routeLines(route: Route): string[] {
  const { address, aliases = [], summary, description, formats = [], query, paramTexts } = route
  const params = Object.entries(query).map(([name, param]) => {
    const need = param.isRequired === true ? ', required' : ''
    const example = param.example === undefined ? '' : ` Such as \`${param.example}\`.`
    return `- \`${name}\`${need}: ${paramTexts[name]}${example}`
  })
  return [
    '',
    `### GET ${address}`,
    '',
    `${summary}. ${description}${route.isKeyless === true ? '' : ' Needs a key.'}`,
    ...(aliases.length === 0 ? [] : [`Also at ${aliases.join(', ')}.`]),
    ...(formats.length === 0 ? [] : [`Formats: json, ${formats.join(', ')}.`]),
    ...params,
    ...Object.entries(route.writes ?? {}).flatMap(([method, write]) => [
      '',
      `### ${method} ${address}`,
      '',
      `${write.summary}. ${write.description} Needs a key.`,
      ...(write.body === undefined
        ? []
        : ['The body is JSON; its members are in the OpenAPI document.']),
    ]),
  ]
}

function streamLines(who: string, schemas: Readonly<Record<string, JsonSchema>>): string[] {
  return Object.entries(schemas).map(
    ([name, { description }]) => `- ${who} \`${name}\`: ${String(description)}`,
  )
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

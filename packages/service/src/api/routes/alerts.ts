import { parseAlertRule, type AlertRule } from '@priorbook/sdk/alerts'
import {
  contractOf,
  DEFAULT_LIMIT,
  Problem,
  timeJson,
  type AlertDeliveryJson,
  type AlertEventJson,
  type AlertJson,
  type ValueStyle,
} from '@priorbook/sdk/wire'
import { callerOf } from '../auth/grant.ts'
import { requireWatchable } from '../contracts/watchable.ts'
import { noticeMeta } from '../pages/notices.ts'
import { styleOf } from '../pages/page.ts'
import {
  defineRoute,
  type AlertDelivery,
  type AlertRules,
  type ApiContext,
  type CursorScope,
  type Grant,
  type Notice,
  type Route,
  type StoredAlert,
} from '../route.ts'

const ALERTS_ROUTE = defineRoute(
  contractOf('alerts'),
  async ({ grant, query, route }, context) => {
    const style = styleOf(query)
    const { limit = DEFAULT_LIMIT, cursor } = query
    const scope: CursorScope = { route, key: grant.keyId }
    const after = cursor === undefined ? undefined : context.cursors.read(scope, cursor)['after']
    const { alerts } = context
    const found = alerts?.list(grant.keyId, after as string | undefined, limit + 1) ?? []
    const rules = found.slice(0, limit)
    const hasMore = found.length > rules.length
    const data: AlertJson[] = []
    for (const rule of rules) data.push(await toAlertJson(context, grant, rule, style))
    return {
      kind: 'data',
      data,
      count: rules.length,
      meta: alerts === undefined ? noticeMeta(NO_ALERTS) : {},
      nextCursor: hasMore ? context.cursors.sign(scope, { after: rules.at(-1)!.id }) : undefined,
    }
  },
  {
    async POST({ body, grant }, context) {
      const rules = rulesOf(context)
      const rule = parseAlertRule(body)
      rules.checkWebhook(rule.json.webhook)
      await requireWatchable(context, grant, rule)
      const { alerts: most, name } = callerOf(grant).terms
      const created = rules.create(grant.keyId, rule, most)
      if (created === undefined) {
        const detail = `the key has the ${most} alerts that the plan ${name} includes`
        throw new Problem('plan_required', detail, { limit: 'alerts' })
      }
      const { alert, secret } = created
      return one({ ...(await toAlertJson(context, grant, alert, {})), secret })
    },
  },
)

const ALERT_ROUTE = defineRoute(
  contractOf('alert'),
  async ({ path, grant, query }, context) => {
    const alert = requireAlert(context, grant, path.alert_id)
    return one(await toAlertJson(context, grant, alert, styleOf(query)))
  },
  {
    async DELETE({ path, grant }, context) {
      const alert = requireAlert(context, grant, path.alert_id)
      const data = await toAlertJson(context, grant, alert, {})
      rulesOf(context).remove(alert.id)
      return one(data)
    },
  },
)

const DELIVERIES_ROUTE = defineRoute(
  contractOf('alert_deliveries'),
  async ({ path, grant, query, route }, context) => {
    const alert = requireAlert(context, grant, path.alert_id)
    const style = styleOf(query)
    const { limit = DEFAULT_LIMIT, cursor } = query
    const scope: CursorScope = { route, alert: alert.id }
    const before = cursor === undefined ? undefined : context.cursors.read(scope, cursor)['before']
    const found = rulesOf(context).deliveries(alert.id, before as number | undefined, limit + 1)
    const events = found.slice(0, limit)
    const hasMore = found.length > events.length
    const last = events.at(-1)
    return {
      kind: 'data',
      data: events.map((delivery) => toDeliveryJson(delivery, style)),
      count: events.length,
      meta: {},
      nextCursor: hasMore ? context.cursors.sign(scope, { before: last!.number }) : undefined,
    }
  },
  {
    async POST({ path, grant }, context) {
      const alert = requireAlert(context, grant, path.alert_id)
      return one(toDeliveryJson(rulesOf(context).test(alert.id), {}))
    },
  },
)

const NO_ALERTS: Notice = {
  code: 'no_alerts',
  message: 'This installation keeps no alerts.',
}

/** Rules on recorded rows, and the delivery of what they found. */
export const ALERT_ROUTES: readonly Route[] = [ALERTS_ROUTE, ALERT_ROUTE, DELIVERIES_ROUTE]

function rulesOf({ alerts }: ApiContext): AlertRules {
  if (alerts !== undefined) return alerts
  throw new Problem('not_implemented', 'this installation keeps no alerts', {
    hint: 'Alerts need a service that records or serves its own tape; priorbook alert follows rules on the stream of any service.',
  })
}

function requireAlert(context: ApiContext, grant: Grant, id: string): StoredAlert {
  const alert = context.alerts?.find(grant.keyId, id)
  if (alert !== undefined) return alert
  throw new Problem('unknown_alert', 'the key has no alert with this id', {
    param: 'alert_id',
    hint: '/v3/alerts lists those that it has.',
  })
}

async function toAlertJson(
  context: ApiContext,
  grant: Grant,
  alert: StoredAlert,
  style: ValueStyle,
): Promise<AlertJson> {
  const { id, created, rule, fired, pending, delivered, dropped, error } = alert
  return {
    alert_id: id,
    created_time: timeJson(created, style)!,
    state: (await isWatchable(context, grant, rule)) ? 'active' : 'paused',
    rule: rule.json,
    fired,
    pending,
    delivered,
    dropped,
    last_error: error ?? null,
  }
}

async function isWatchable(context: ApiContext, grant: Grant, rule: AlertRule): Promise<boolean> {
  try {
    await requireWatchable(context, grant, rule)
    return true
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}

function toDeliveryJson(delivery: AlertDelivery, style: ValueStyle): AlertDeliveryJson {
  const { id, number, state, attempts, next, ended, status, error, event } = delivery
  return {
    id,
    number,
    state,
    attempts,
    next_time: next === undefined ? null : timeJson(next, style),
    ended_time: ended === undefined ? null : timeJson(ended, style),
    status: status ?? null,
    error: error ?? null,
    event: JSON.parse(event) as AlertEventJson,
  }
}

function one(data: unknown): { kind: 'data'; data: unknown; count: 1; meta: {} } {
  return { kind: 'data', data, count: 1, meta: {} }
}

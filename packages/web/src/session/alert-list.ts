import type { AlertDeliveryJson, AlertJson } from '@priorbook/sdk/wire'
import { createPanel } from '../app/panel.ts'

// Rules that one request returns; a key with more lists them on the command line.
const MAX_RULES = 1000

/** A rule with the newest of its events; undefined where it has none. */
export type ListedAlert = {
  readonly alert: AlertJson
  readonly newest: AlertDeliveryJson | undefined
}

/** The rules of the key, the newest first. */
export type AlertPage = {
  readonly rows: readonly ListedAlert[]
  readonly hasMore: boolean
  /** False where the installation keeps no alerts. */
  readonly isKept: boolean
  /** How many rules the plan includes. */
  readonly most: number
}

/** Reads the rules of the key, and the newest event of those of which something happened since the last time. */
export class AlertList {
  readonly panel = createPanel()
  // Its requests are not listed: one for every rule.
  private readonly quiet = createPanel()
  private readonly known = new Map<
    string,
    { state: string; newest: AlertDeliveryJson | undefined }
  >()
  private most: number | undefined

  /** Reads them now; newest events of the first `shown` rules only. */
  async read(shown: number, signal: AbortSignal): Promise<AlertPage> {
    const { client, note } = this.panel
    this.most ??= (await this.quiet.client.limits({ signal })).data.alerts
    note('alerts')
    const page = await client.alerts({ limit: MAX_RULES }, { signal }).page()
    const alerts = page.data.toReversed()
    for (const alert of alerts.slice(0, shown)) await this.look(alert, signal)
    return {
      rows: alerts.map((alert) => ({ alert, newest: this.known.get(alert.alert_id)?.newest })),
      hasMore: page.resume !== null,
      isKept: !page.notices.some(({ code }) => code === 'no_alerts'),
      most: this.most,
    }
  }

  // The counts of a rule change with every event and its delivery; the error with every attempt.
  private async look(alert: AlertJson, signal: AbortSignal): Promise<void> {
    const { alert_id: id, fired, pending, delivered, dropped, last_error: error } = alert
    if (fired === 0) return
    const state = [fired, pending, delivered, dropped, error].join(' ')
    if (this.known.get(id)?.state === state) return
    const page = await this.quiet.client.alertDeliveries(id, { limit: 1 }, { signal }).page()
    this.known.set(id, { state, newest: page.data[0] })
  }
}

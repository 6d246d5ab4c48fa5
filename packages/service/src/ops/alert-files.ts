import type { Alert } from './alerts.ts'

const PAGE = 'docs/operate/alerts.md'

/** The rules of Prometheus for alerts. */
export function toRules(alerts: readonly Alert[]): string {
  const rules = alerts.map(({ name, severity, condition, for: lasting, summary }) => {
    const lines = [
      `- alert: ${name}`,
      `  expr: ${quote(condition.promql)}`,
      `  for: ${lasting}`,
      '  labels:',
      `    severity: ${severity}`,
      '  annotations:',
      `    summary: ${quote(summary)}`,
      `    description: ${quote(`priorbook-server doctor --alert ${name}`)}`,
      `    runbook: ${quote(`${PAGE}#${name.toLowerCase()}`)}`,
    ]
    return lines.map((line) => `      ${line}\n`).join('')
  })
  return `# Written by \`npm run alerts\` from packages/service/src/ops/alerts.ts. Scrape with the job name priorbook.
groups:
  - name: priorbook
    interval: 15s
    rules:
${rules.join('')}`
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

/** The page of the docs about alerts. */
export function toAlertsPage(alerts: readonly Alert[]): string {
  const sections = alerts.map((alert) => `## ${alert.name}\n\n${toSection(alert)}`)
  return `# Alerts

The rules are in \`deploy/prometheus/priorbook.rules.yml\`; [monitoring](monitoring.md) says how to load them. A \`page\` is sent
while data are being lost or cannot be read, a \`ticket\` where that is to be expected. \`priorbook-server doctor --alert NAME\`
prints the section of an alert, and \`doctor\` says which alerts would fire now. \`npm run alerts\` writes this page.

${sections.join('\n')}`
}

function toSection({ severity, condition, for: lasting, meaning, steps }: Alert): string {
  const list = steps.map((step, index) => `${index + 1}. ${step}\n`).join('')
  const held = lasting === '0s' ? 'at once' : `after ${lasting}`
  return `\`${severity}\`, ${held}:

\`\`\`promql
${condition.promql}
\`\`\`

${meaning}

${list}`
}

/** What a terminal shows of an alert. */
export function explainAlert({
  name,
  severity,
  condition,
  for: lasting,
  meaning,
  steps,
}: Alert): string[] {
  return [
    `${name} (${severity})`,
    `fires when ${condition.promql}${lasting === '0s' ? '' : `, for ${lasting}`}`,
    '',
    meaning,
    '',
    ...steps.map((step, index) => `${index + 1}. ${step}`),
  ]
}

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { check, has, must, Skipped, type Steps } from './steps.ts'

const CHART = join(import.meta.dirname, '../../deploy/helm/priorbook')
const HELM = 'helm.sh/helm/v3/cmd/helm@v3.22.0'
const VALIDATOR = 'kubernetes-validate==1.37.0'
const VERSIONS = ['1.27', '1.37']

// helm built from source knows no version of its own.
const KUBERNETES = ['--kube-version', '1.30.0', '--namespace', 'x']
// Values, and a word of the reason.
const REFUSED = [
  ['mode=both', 'mode'],
  ['store.address=x', 'address'],
  ['mode=cluster', 'store.existingSecret'],
] as const

const CLUSTER = ['mode=cluster', 'upstream=live', 'store.existingSecret=tape-db']
// Each is rendered and compared with the schemas of Kubernetes.
const SETS: Readonly<Record<string, readonly string[]>> = {
  single: [],
  cluster: CLUSTER,
  everything: [
    ...CLUSTER,
    'redis.existingSecret=tape-redis',
    's3.address=s3://bucket/tape',
    's3.endpoint=http://objects:8333',
    's3.region=us-east-1',
    'secrets.all={objects}',
    'secrets.recorder={venues}',
    'settings.PRIORBOOK_VENUEB_SELECT=all',
    'ingress.enabled=true',
    'ingress.className=nginx',
    'ingress.tlsSecret=tls',
    'serviceMonitor.enabled=true',
    'recorder.persistence.storageClass=fast',
    'image.digest=sha256:' + 'a'.repeat(64),
    'networkPolicy.opsFrom[0].namespaceSelector.matchLabels.name=monitoring',
    'imagePullSecrets[0].name=registry',
    'podAnnotations.team=data',
  ],
}

/** The Helm chart: linted, rendered, compared with the schemas of Kubernetes; it is not installed anywhere. */
export async function tryChart(steps: Steps, scratch: string): Promise<void> {
  let helm = ''
  await steps.try('helm', () => {
    helm = findHelm()
    return must(helm, ['version', '--short']).trim()
  })
  const needsHelm = (): void => {
    if (helm === '') throw new Skipped('there is no helm')
  }
  await steps.try('helm lint', () => {
    needsHelm()
    for (const values of Object.values(SETS)) {
      must(helm, ['lint', '--strict', CHART, ...toFlags(values)])
    }
  })
  await steps.try(
    'helm refuses values that it does not know, and a cluster without a database',
    () => {
      needsHelm()
      for (const [value, why] of REFUSED) {
        let words = ''
        try {
          must(helm, ['template', 'tape', CHART, ...KUBERNETES, '--set', value])
        } catch (error) {
          words = (error as Error).message
        }
        check(words.includes(why), `${value}: ${words === '' ? 'it is accepted' : words}`)
      }
    },
  )
  let validator = ''
  await steps.try('schemas of Kubernetes', () => {
    validator = installValidator(scratch)
    return VALIDATOR
  })
  for (const [name, values] of Object.entries(SETS)) {
    await steps.try(`helm template (${name})`, () => {
      needsHelm()
      const text = must(helm, ['template', 'tape', CHART, ...KUBERNETES, ...toFlags(values)])
      const kinds = [...text.matchAll(/^kind: (\w+)$/gm)].map(([, kind]) => kind!)
      check(kinds.includes('StatefulSet'), 'it renders no pods')
      checkSecurity(text)
      if (validator !== '') {
        const file = join(scratch, `${name}.yaml`)
        // The resource of the operator of Prometheus is not one of Kubernetes.
        const known = text.split(/^---$/m).filter((part) => !part.includes('kind: ServiceMonitor'))
        writeFileSync(file, known.join('---'))
        for (const version of VERSIONS) must(validator, ['--strict', '-k', version, file])
      }
      return `${kinds.length} objects${validator === '' ? ', not compared with schemas' : ''}`
    })
  }
}

const toFlags = (values: readonly string[]): string[] => values.flatMap((value) => ['--set', value])

// Every set of pods, without knowing how the chart is written.
function checkSecurity(text: string): void {
  for (const part of text.split(/^---$/m).filter((one) => /^kind: StatefulSet$/m.test(one))) {
    for (const wanted of [
      'runAsNonRoot: true',
      'readOnlyRootFilesystem: true',
      'allowPrivilegeEscalation: false',
      'automountServiceAccountToken: false',
      'drop: [ALL]',
      'livenessProbe:',
      'readinessProbe:',
      'startupProbe:',
    ]) {
      check(part.includes(wanted), `pods without ${wanted}`)
    }
  }
}

function findHelm(): string {
  if (has('helm')) return 'helm'
  if (!has('go')) throw new Skipped('neither helm nor go, which could build it, is installed')
  const folder = join(must('go', ['env', 'GOPATH']).trim(), 'bin')
  const program = join(folder, 'helm')
  if (!has(program)) must('go', ['install', HELM])
  return program
}

function installValidator(scratch: string): string {
  if (!has('python3')) throw new Skipped('python3 is not installed')
  const folder = join(scratch, 'validator')
  mkdirSync(folder, { recursive: true })
  must('python3', ['-m', 'venv', folder])
  must(join(folder, 'bin/pip'), ['install', '--quiet', '--disable-pip-version-check', VALIDATOR])
  return join(folder, 'bin/kubernetes-validate')
}

// Writes a package of its own for each model but the default one: `models/wordloom-model-de-en/` and the like, for `npm pack`.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesOf, MODELS, nameOf } from './models.js';

/** `out` is the folder of the packages, `version` that of each. */
export function writeModelPackages(out, version) {
  rmSync(out, { recursive: true, force: true });
  for (const folder of MODELS.slice(1)) writePackage(folder, out, version);
}

function writePackage(folder, out, version) {
  const crate = readFileSync(join(folder, 'Cargo.toml'), 'utf8');
  const field = (name) => new RegExp(`^${name} = "(.*)"`, 'm').exec(crate)[1];
  const name = field('name');
  const files = filesOf(folder);
  const target = join(out, name);
  mkdirSync(target, { recursive: true });
  for (const file of [...files.map((file) => file.name), 'LICENSE.md', 'MODEL_CARD.md']) {
    copyFileSync(join(folder, file), join(target, file));
  }
  const about = {
    name,
    version,
    description: field('description').replace(/, as bytes$/, ''),
    license: 'SEE LICENSE IN LICENSE.md',
    type: 'module',
    sideEffects: false,
    exports: { '.': { types: './index.d.ts', default: './index.js' }, './package.json': './package.json' },
    files: ['*'],
  };
  const write = (file, text) => writeFileSync(join(target, file), text);
  write('package.json', `${JSON.stringify(about, null, 2)}\n`);
  write('index.js', script(folder, files));
  write('index.d.ts', TYPES);
  write('README.md', readme(name, about.description));
}

/** Every address is written in the only form that bundlers follow. */
function script(folder, files) {
  const lines = (value) => files.map((file) => `    '${file.name}': ${value(file)},\n`).join('');
  return `export default {
  name: '${nameOf(folder)}',
  urls: {
${lines(({ name }) => `new URL('./${name}', import.meta.url).href`)}  },
  manifest: {
${lines(({ sha256 }) => `'${sha256}'`)}  },
  sizes: {
${lines(({ bytes }) => bytes)}  },
};
`;
}

const TYPES = `/** For the \`model\` option of \`Translator.create\`. */
declare const model: {
  name: string;
  urls: Record<string, string>;
  manifest: Record<string, string>;
  sizes: Record<string, number>;
};
export default model;
`;

function readme(name, description) {
  return `# ${name}

${description}, in a browser or in Node. Its [card](MODEL_CARD.md) says how well it translates.

\`\`\`js
import { Translator } from 'wordloom';
import model from '${name}';

const translator = await Translator.create({ model });
\`\`\`

The licence is in [LICENSE.md](LICENSE.md).
`;
}

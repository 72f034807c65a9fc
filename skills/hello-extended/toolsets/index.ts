import { Tool } from '@agent/tools';
import { ROWS, type Row } from './languages';

type Occasion = 'hello' | 'morning' | 'day' | 'evening' | 'goodbye' | 'welcome';

interface GreetingArguments {
  language: string;
  occasion?: Occasion;
  form?: 'informal' | 'formal';
}

const OCCASIONS: readonly Occasion[] = ['hello', 'morning', 'day', 'evening', 'goodbye', 'welcome'];

/** Without accents and capitals, so that "Maori" finds "Māori". */
const folded = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trim();

function row(language: string): Row {
  const wanted = folded(language);
  const found =
    ROWS.find(([name, code]) => folded(name) === wanted || code === wanted) ??
    ROWS.find(([name]) => wanted.length > 2 && folded(name).startsWith(wanted));
  if (found === undefined) {
    throw new Error(`"${language}" is none of the languages: ${ROWS.map(([name]) => name).join(', ')}`);
  }
  return found;
}

/** The form of `informal / formal` that was asked for; what has only one form has that. */
function formOf(cell: string, form: 'informal' | 'formal'): string {
  const forms = cell.split(' / ');
  return (form === 'formal' ? forms[forms.length - 1] : forms[0]) as string;
}

export const greeting = Tool.define('greeting', {
  description:
    'Looks up how a language says hello, goodbye or welcome, by time of day and formality, in its own script and ' +
    'with its romanisation. Answers with the words alone: add the name yourself.',
  parameters: {
    type: 'object',
    properties: {
      language: { type: 'string', minLength: 1, description: 'Its English name or its ISO code, such as French or fr.' },
      occasion: { type: 'string', enum: OCCASIONS, default: 'hello', description: 'What is said, or when.' },
      form: { type: 'string', enum: ['informal', 'formal'], default: 'formal', description: 'How well they know each other.' },
    },
    required: ['language'],
    additionalProperties: false,
  },
  execute: async ({ language, occasion = 'hello', form = 'formal' }: GreetingArguments) => {
    const found = row(language);
    const [name, code, hello] = found;
    const cell = found[OCCASIONS.indexOf(occasion) + 2] as string;
    // Some languages say the same all day long.
    const words = formOf(cell === 'as Hello' ? hello : cell, form);
    return { title: `${name}: ${occasion}, ${form}`, metadata: { language: name, code, occasion, form }, output: words };
  },
});

export const languages = Tool.define('greeting_languages', {
  description: 'Lists the languages that `greeting` knows, with their codes.',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  execute: () => ({
    title: `${ROWS.length} languages`,
    metadata: { count: ROWS.length },
    output: ROWS.map(([name, code]) => `${name} (${code})`).join(', '),
  }),
});

export const HelloToolset = [greeting, languages];

/* rust_names.h - names of functions in Rust, mangled (v0) and plain. Made by tests/unit/targets/rust_names.sh. */
static const struct {
	const char *mangled, *plain;
} rust_names[] = {
	{ "_RNvXNtCsbt0fQicOZbh_10rust_names5innerINtB2_5ThinghENtB2_3Act8acts_oneB4_",
	  "<rust_names::inner::Thing<u8> as rust_names::inner::Act>::acts_one" },
	{ "_RINvMs_NtCsbt0fQicOZbh_10rust_names5innerINtB5_5ThinghE10method_twoReEB7_",
	  "<rust_names::inner::Thing<u8>>::method_two::<&str>" },
	{ "_RNvNtCsbt0fQicOZbh_10rust_names5inner11plain_three", "rust_names::inner::plain_three" },
	{ "_RINvCsbt0fQicOZbh_10rust_names10const_fourKjc_EB2_", "rust_names::const_four::<12>" },
	{ "_RNvCsbt0fQicOZbh_10rust_names8dyn_five", "rust_names::dyn_five" },
	{ "_RINvCsbt0fQicOZbh_10rust_names11generic_sixTlcENCNvB2_4mains_0EB2_",
	  "rust_names::generic_six::<(i32, char), rust_names::main::{closure#1}>" },
	{ "_RNCNvCsbt0fQicOZbh_10rust_names13closure_seven0B3_",
	  "rust_names::closure_seven::{closure#0}" },
	{ "_RNvCsbt0fQicOZbh_10rust_namesu12grn_acht_75a", "rust_names::grün_acht" },
};
